#include "gpu_engine/operators/sorted_pairs.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "gpu_engine/operators/kernels_ahead.hpp"
#include "gpu_engine/operators/radix_launch.hpp"
#include "gpu_engine/operators/word_sort.hpp"
#include "gpu_engine/row_numbers.hpp"

namespace query::gpu_engine {

using ir::kind;
using ir::op;

namespace {

enum argument : std::uint32_t {
  row_count,
  key_at,
  key_stride,
  negative,
  other,
  floating,
  untold,
  low_at,
  low_stride,
  high_at,
  high_stride,
  out,
  out_stride,
  out_rows,
  key_offset,
  low_offset,
  high_offset,
  temp,
  keys_0,
  keys_1,
  values_0,
  values_1,
  pass,
  argument_count
};
constexpr std::size_t untold_word = 1;  // of the status block

// An aligned word of the rows, and the column that has it.
struct piece {
  std::size_t offset, column, in_column, stride;
  device_address at(const device_rows& rows) const { return rows.column(column) + in_column; }
};

struct pair_layout {
  const ir::type* number;
  piece key;
  gpu::number_form<gpu::u64> form;
  std::vector<piece> beside;  // one of 4 or 8 bytes, or two of 4
  std::size_t piece_bytes;
  std::size_t carried() const { return beside.size() * piece_bytes; }
};

std::optional<piece> piece_of(const input_layout& in, std::size_t offset, std::size_t bytes) {
  for (std::size_t c = 0; c < in.columns.size(); ++c) {
    const input_column& column = in.columns[c];
    if (column.counted || !same_on_device(column.type) || offset < column.offset) continue;
    const std::size_t stride = device_layout(column.type).size, in_column = offset - column.offset;
    if (in_column + bytes <= stride && in_column % bytes == 0 && stride % bytes == 0) return piece{offset, c, in_column, stride};
  }
  return std::nullopt;
}

// Adds the words of 4 bytes in which the numbers of a value lie, but for the bytes [key, key + key_bytes). False: it is more than numbers.
bool add_words(const ir::type* t, std::size_t offset, std::size_t key, std::size_t key_bytes, std::set<std::size_t>& words) {
  if (ir::is_arithmetic(t->k)) {
    if (offset < key + key_bytes && key < offset + t->size) return true;
    for (std::size_t at = offset / 4 * 4; at < offset + t->size; at += 4) words.insert(at);
    return true;
  }
  if (t->k == kind::array) {
    for (std::size_t i = 0; i < t->count && words.size() <= 2; ++i)
      if (!add_words(t->element, offset + i * t->element->size, key, key_bytes, words)) return false;
    return true;
  }
  if (t->k != kind::record) return false;
  return std::all_of(t->field_list.begin(), t->field_list.end(),
                     [&](const auto& f) { return add_words(f.of, offset + f.offset, key, key_bytes, words); });
}

std::optional<pair_layout> pairs_of(const detail::logical& n, const input_layout& in) {
  // A further key would need more passes.
  if (n.functions.size() != 1 || n.order.size() > 1 || in.nearest || !same_on_device(n.row) || !same_shape(in.row, n.row))
    return std::nullopt;
  const detail::order_key order = n.order.empty() ? detail::order_key{} : n.order[0];
  if (order.custom.less) return std::nullopt;
  kernel_source k;
  const ir::traced t = k.trace(n, n.functions[0]);
  if ((t.root->what != op::row && t.root->what != op::field) || t.root->id != 0) return std::nullopt;
  const ir::type* number = n.functions[0].result ? n.functions[0].result : t.root->type;
  if (number->k != t.root->type->k || !ir::is_arithmetic(number->k) || (number->size != 4 && number->size != 8)) return std::nullopt;
  const std::size_t at = t.root->what == op::field ? t.root->bits : 0, stride = device_layout(n.row).size;
  const std::optional<piece> key = piece_of(in, at, number->size);
  if (!key || at % number->size || stride % number->size || device_layout(n.row).align < 4) return std::nullopt;

  std::set<std::size_t> words;
  if (!add_words(n.row, 0, at, number->size, words) || words.empty() || words.size() > 2) return std::nullopt;
  pair_layout p{number, *key, word_column::form_of(number, order.descending), {}, 4};
  const std::size_t first = *words.begin();
  if (words.size() == 2 && first % 8 == 0 && words.count(first + 4) && stride % 8 == 0) {
    if (const auto both = piece_of(in, first, 8)) {
      p.beside.push_back(*both);
      p.piece_bytes = 8;
      return p;
    }
  }
  for (const std::size_t offset : words) {
    const std::optional<piece> one = piece_of(in, offset, 4);
    if (!one) return std::nullopt;
    p.beside.push_back(*one);
  }
  return p;
}

// Carries one piece of 4 or 8 bytes, or two of 4.
kernel_source generate(std::size_t key_bytes, std::size_t pieces, std::size_t piece_bytes, bool wide) {
  kernel_source k;
  const auto arg = [&](argument a, std::string_view type = "u64") { return k.argument(a, type); };
  const std::string word = "u" + std::to_string(key_bytes * 8), piece = "u" + std::to_string(piece_bytes * 8),
                    carried = "u" + std::to_string(pieces * piece_bytes * 8), bits = std::to_string(key_bytes * 8),
                    form = "number_form<" + word + ">{(" + word + ")" + arg(negative) + ", (" + word + ")" + arg(other) + ", " +
                           arg(floating) + " != 0}";
  const auto read = [&](argument at, argument stride) {
    return "*(const " + piece + "*)(" + arg(at, "const u8*") + " + row * " + arg(stride) + ")";
  };
  k.include("gpu_primitives/radix_sort.cuh");
  k.include("gpu_primitives/sort_keys.cuh");
  k.add("using policy = radix_policy<" + word + ", " + carried + ">;\n");
  k.add("__device__ __forceinline__ " + word + " bits_of(const words& p, u64 row) {\n  return *(const " + word + "*)(" +
        arg(key_at, "const u8*") + " + row * " + arg(key_stride) + ");\n}\n");
  k.add("__device__ __forceinline__ " + carried + " carried_of(const words& p, u64 row) {\n  return " + read(low_at, low_stride) +
        (pieces == 2 ? " | u64(" + read(high_at, high_stride) + ") << 32" : "") + ";\n}\n");
  k.add(
      "extern \"C\" __global__ void __launch_bounds__(policy::histogram_threads) count_pairs(const __grid_constant__ words p) {\n"
      "  const auto form = " +
      form + ";\n  bool told = true;\n  radix_histogram<policy, " + bits + ">(" + arg(row_count) + ", " + arg(temp, "void*") +
      ", [&](u64 row) {\n    const " + word +
      " b = bits_of(p, row);\n    told = told && sort_key_tells(b, form);\n"
      "    return sort_key_of_bits(b, form);\n  });\n  if (!told) store_relaxed(" +
      arg(untold, "u64*") + ", u64(1));\n}\n");
  k.add(
      "extern \"C\" __global__ void __launch_bounds__(policy::threads, policy::blocks) sweep_pairs(const __grid_constant__ words p) {\n"
      "  extern __shared__ __align__(16) u8 shared[];\n  const auto form = " +
      form + ";\n  const radix_buffers<" + word + ", " + carried + "> between{{" + arg(keys_0, word + "*") + ", " +
      arg(keys_1, word + "*") + "}, {" + arg(values_0, carried + "*") + ", " + arg(values_1, carried + "*") +
      "}};\n  u8* const out = " + arg(out, "u8*") + ";\n  const u64 kept = " + arg(out_rows) + ", stride = " + arg(out_stride) +
      ";\n  radix_sweep<policy, " + bits + ", " + word + ", " + carried + ", " + (wide ? "u64" : "u32") + ">((u32)" + arg(pass) + ", " +
      arg(row_count) + ", " + arg(temp, "void*") +
      ", between, shared,\n"
      "    [&](u64 j) { return sort_key_of_bits(bits_of(p, j), form); }, [&](u64 j) { return carried_of(p, j); },\n    [&](u64 at, " +
      word + " key) {\n      if (at < kept) *(" + word + "*)(out + at * stride + " + arg(key_offset) +
      ") = bits_of_sort_key(key, form);\n    },\n"
      "    [&](u64 at, " +
      carried + " v) {\n      if (at >= kept) return;\n      *(" + piece + "*)(out + at * stride + " + arg(low_offset) + ") = (" + piece +
      ")v;\n" + (pieces == 2 ? "      *(u32*)(out + at * stride + " + arg(high_offset) + ") = (u32)(v >> 32);\n" : std::string()) +
      "    });\n}\n");
  return k;
}

template <class Key, class Carried> radix_shape shape_with(std::uint64_t n, bool wide) {
  return wide ? radix_shape::of<Key, Carried, gpu::u64>(n) : radix_shape::of<Key, Carried, gpu::u32>(n);
}
radix_shape shape_of(std::uint64_t n, std::size_t key_bytes, std::size_t carried, bool wide) {
  using gpu::u32, gpu::u64;
  if (key_bytes == 4) return carried == 4 ? shape_with<u32, u32>(n, wide) : shape_with<u32, u64>(n, wide);
  return carried == 4 ? shape_with<u64, u32>(n, wide) : shape_with<u64, u64>(n, wide);
}

// Keys and what they carry between passes. The last pass reads the first ones alone, so the rows that it writes may lie in the second.
class buffers {
 public:
  buffers(const pair_layout& p, std::uint64_t n, device_address rows_out, bool all, vertex_run& run) {
    const std::uint64_t keys = n * p.number->size, values = n * p.carried();
    keys_ = run.allocate(keys);
    values_ = run.allocate(values);
    if (!all) second_ = run.allocate(keys + values);
    const device_address second = all ? rows_out : second_.address();
    const bool keys_first = p.number->size >= p.carried();  // what is wider lies where it is aligned
    keys_1_ = keys_first ? second : second + values;
    values_1_ = keys_first ? second + keys : second;
  }
  void tell(std::vector<std::uint64_t>& args) const {
    args[keys_0] = keys_.address();
    args[values_0] = values_.address();
    args[keys_1] = keys_1_;
    args[values_1] = values_1_;
  }

 private:
  device_buffer keys_, values_, second_;
  device_address keys_1_ = 0, values_1_ = 0;
};

}  // namespace

bool sort_pairs(const planner::vertex& v, const device_rows& in, device_address rows_out, std::uint64_t kept, vertex_run& run) {
  const std::uint64_t n = in.size();
  if (n < run.gpu().least_carried()) return false;
  const std::optional<pair_layout> p = pairs_of(*v.node, in.layout());
  if (!p) return false;
  const bool wide = wide_row_numbers(n);
  const kernel_source k = generate(p->number->size, p->beside.size(), p->piece_bytes, wide);
  (void)known_or_begun(run, k);
  std::optional<buffers> between;
  try {
    between.emplace(*p, n, rows_out, kept == n, run);
  } catch (const out_of_memory&) {
    return false;  // row numbers take less
  }

  std::vector<std::uint64_t> args(argument_count, 0);
  args[row_count] = n;
  args[key_at] = p->key.at(in);
  args[key_stride] = p->key.stride;
  args[key_offset] = p->key.offset;
  args[negative] = p->form.negative;
  args[other] = p->form.other;
  args[floating] = p->form.floating;
  args[low_at] = p->beside.front().at(in);
  args[low_stride] = p->beside.front().stride;
  args[low_offset] = p->beside.front().offset;
  args[high_at] = p->beside.back().at(in);
  args[high_stride] = p->beside.back().stride;
  args[high_offset] = p->beside.back().offset;
  args[out] = rows_out;
  args[out_stride] = device_layout(v.node->row).size;
  args[out_rows] = kept;
  args[untold] = run.status_word(untold_word);
  between->tell(args);

  const auto count = run.compile(k, "count_pairs"), sweep = run.compile(k, "sweep_pairs");
  radix_launch sort(run, k, *count, *sweep, shape_of(n, p->number->size, p->carried(), wide),
                    static_cast<std::uint32_t>(p->number->size * 8));
  if (p->form.floating) run.fill(args[untold], 0, 8);
  sort.count({}, args, temp);
  if (p->form.floating) {
    run.finish(k);
    if (run.read(untold_word)) return false;
  }
  sort.passes({}, args, pass);
  run.finish(k);
  return true;
}

}  // namespace query::gpu_engine
