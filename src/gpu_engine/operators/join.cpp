// Hash joins: the build rows are grouped by key, probe rows look up their group, and the output is cut into equal tiles, so
// that one probe row with many partners is written by many threads (gpu_primitives/join_expand.cuh).
#include <algorithm>
#include <functional>

#include <query/errors.hpp>

#include "gpu_engine/codegen/expressions.hpp"
#include "gpu_engine/codegen/group_keys.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_primitives/compact.cuh"
#include "gpu_primitives/hash_join.cuh"
#include "gpu_primitives/scan.cuh"

namespace query::gpu_engine {

namespace {

using detail::join_kind;
using ir::kind;

// Arguments of the kernels. Input 0 is the probe side, input 1 the build side.
enum argument : std::uint32_t {
  slots,
  bits,
  id_count,
  full,
  group_of_build,
  sizes,
  scan_temp,
  scan_n,
  offsets,
  cursors,
  build_rows,
  group_of_probe,
  entries,
  outputs,
  match_block_count,
  list,
  output_total,
  entry_total,
  out,
  compact_temp,
  kept,
  argument_count,
};

enum status : std::size_t { ids_word = 1, full_word, kept_word, entries_word, outputs_word };

struct generated {
  kernel_source source;
  std::size_t slot_bytes = 16;
};

row_source rows_of(kernel_source& k, const input_layout& in, std::uint32_t input, const std::string& number) {
  row_source row;
  row.what = row_source::form::columns;
  row.type = in.row;
  row.text = number;
  for (std::uint32_t c = 0; c < in.columns.size(); ++c)
    row.columns.push_back({in.columns[c].offset, in.columns[c].type,
                           k.parameter({word::role::column, input, c, 0}, "const " + k.type_name(in.columns[c].type) + "* __restrict__")});
  return row;
}

// The type that a function sees as row `id`, null if it does not read it as a whole.
const ir::type* row_seen(const ir::node* n, std::uint32_t id) {
  std::vector<const ir::node*> stack = {n};
  while (!stack.empty()) {
    const ir::node* x = stack.back();
    stack.pop_back();
    if (x->what == ir::op::row && x->id == id) return x->type;
    stack.insert(stack.end(), x->kids.begin(), x->kids.end());
  }
  return nullptr;
}

bool is_semi(join_kind k) { return k == join_kind::semi || k == join_kind::anti; }

void generate(generated& g, const planner::stage& s, const input_layout& probe, const input_layout& build) {
  const detail::logical& n = *s.join;
  kernel_source& k = g.source;
  if (n.keys.equal) throw not_generated("keys have an equality of the user's own");
  if (n.ordered) throw not_generated("as_ordered() asks for the order of the rows");
  if (!same_on_device(n.row)) throw not_generated("the result's rows own memory (strings, lists)");
  k.include("gpu_primitives/hash_join.cuh");
  k.include("gpu_primitives/scan.cuh");
  k.include("gpu_primitives/compact.cuh");
  const group_key key = generate_group_key(k, n.key);
  if (!key.bytes) throw not_generated("keys of more than 16 bytes, or strings");
  g.slot_bytes = key.bytes == 16 ? 32 : 2 * key.bytes;
  k.add("using Keys = bitwise_keys<" + key.type +
        ">;\nusing Key = Keys::key_type;\nusing ids = hash_table_ref<Keys, u32>;\nstatic_assert(sizeof(ids::slot) == " +
        std::to_string(g.slot_bytes) + ");\n");
  const auto key_function = [&](const char* name, std::size_t function, const input_layout& in, std::uint32_t input) {
    const ir::traced t = k.trace(n, n.functions[function]);
    expressions e(k, k.site(n.label, n.where));
    e.bind(0, rows_of(k, in, input, "i"));
    const std::string v = e.converted(e.value(t.root), t.root->type, n.key);
    // A null matches nothing.
    const std::string test = key.is_null.empty() ? "" : "  if (" + key.is_null + "(" + v + ")) return false;\n";
    k.add(std::string("__device__ __forceinline__ bool ") + name + "(const words& p, u64 i, Key& key) {\n" + e.take() + test +
          "  key = " + key.encode + "(" + v + ");\n  return true;\n}\n");
  };
  key_function("build_key", s.build_left ? 0 : 1, build, 1);
  key_function("probe_key", s.build_left ? 1 : 0, probe, 0);

  const auto arg = [&](argument a, std::string_view type = "u64") { return k.argument(a, type); };
  const auto kernel = [&](const char* name, const std::string& bounds, const std::string& body) {
    k.add("extern \"C\" __global__ void __launch_bounds__(" + bounds + ") " + name + "(const __grid_constant__ words p) {\n" + body +
          "}\n");
  };
  const std::string probe_n = k.parameter({word::role::rows, 0, 0, 0}, "u64"), build_n = k.parameter({word::role::rows, 1, 0, 0}, "u64");
  const std::string table = "table_of_ids<Keys>{{(ids::slot*)" + arg(slots) + ", (u32)" + arg(bits) + "}, " + arg(id_count, "u64*") +
                            ", 0xfffffff0ull, " + arg(full, "u32*") + "}";
  const std::string build_row = "[&](u64 i, Key& key) { return build_key(p, i, key); }",
                    probe_row = "[&](u64 i, Key& key) { return probe_key(p, i, key); }";
  kernel("map_build", "256",
         "  map_keys(" + build_n + ", " + table + ", " + arg(group_of_build, "u32*") + ", Keys{}, " + build_row + ", [](u32, u64) {});\n");
  kernel("lookup_probe", "256",
         "  lookup_groups(" + probe_n + ", " + table + ", " + arg(group_of_probe, "u32*") + ", (u8*)nullptr, (u8*)nullptr, Keys{}, " +
             probe_row + ");\n");
  const std::string type = k.type_name(n.row);
  if (is_semi(n.join)) {
    const std::string wanted = n.join == join_kind::semi ? "!=" : "==";
    kernel("keep_rows", "compact_policy<u64>::threads, compact_policy<u64>::blocks",
           "  " + type + "* const out = " + arg(out, type + "*") + ";\n  compact<compact_policy<u64>, u64>(" + probe_n + ", " +
               arg(compact_temp, "void*") + ", " + arg(kept, "u64*") + ",\n    [&](u64 i, u64& at) { at = i; return " +
               arg(group_of_probe, "const u32*") + "[i] " + wanted + " no_id; },\n    [&](u64 at, const u64& i) { out[at] = " +
               expressions::part_of(rows_of(k, probe, 0, "i"), 0, n.row, k) + "; });\n");
    return;
  }
  const std::string kind_name = n.join == join_kind::left ? "query::gpu::join_kind::left" : "query::gpu::join_kind::inner";
  kernel("count_build", "256", "  count_groups(" + build_n + ", " + arg(group_of_build, "const u32*") + ", " + arg(sizes, "u64*") + ");\n");
  kernel("shuffle_build", "256",
         "  shuffle_rows(" + build_n + ", " + arg(group_of_build, "const u32*") + ", " + arg(cursors, "u64*") + ", " +
             arg(build_rows, "u64*") + ");\n");
  // Offsets: the exclusive sum of the sizes, the total behind.
  kernel("scan_sizes", "scan_policy<u64>::threads, scan_policy<u64>::blocks",
         "  u64* const sums = " + arg(offsets, "u64*") + ";\n  exclusive_scan<scan_policy<u64>, u64>(" + arg(scan_n) + ", " +
             arg(scan_temp, "void*") + ", u64(0), [&](u64 i) { return " + arg(sizes, "const u64*") +
             "[i]; }, [](u64 a, u64 b) { return a + b; }, [&](u64 i, u64 before) { sums[i] = before; }, [&](u64 all) { sums[" +
             arg(scan_n) + "] = all; });\n");
  const std::string source =
      "match_source{" + probe_n + ", " + arg(group_of_probe, "const u32*") + ", nullptr, " + arg(offsets, "const u64*") + "}";
  kernel("count_output", "256",
         "  count_matches<" + kind_name + ">(" + source + ", " + arg(entries, "u64*") + ", " + arg(outputs, "u64*") + ");\n");
  kernel("scan_output", "1024",
         "  scan_blocks(" + arg(match_block_count) + ", " + arg(entries, "u64*") + ");\n  __syncthreads();\n  scan_blocks(" +
             arg(match_block_count) + ", " + arg(outputs, "u64*") + ");\n");
  kernel("list_output", "256",
         "  list_matches<" + kind_name + ">(" + source + ", " + arg(entries, "const u64*") + ", " + arg(outputs, "const u64*") + ", " +
             arg(list, "match_entry*") + ");\n");

  // The result function sees the left row as row 0, the right one as row 1.
  const ir::traced t = k.trace(n, n.functions[2]);
  expressions e(k, k.site(n.label, n.where));
  const bool left_is_probe = !s.build_left;
  const row_source probe_rows = rows_of(k, probe, 0, "probe_row"), matched = rows_of(k, build, 1, "build_row");
  std::string before;
  e.bind(left_is_probe ? 0 : 1, probe_rows);
  if (n.join == join_kind::left) {
    // The right side may be missing: an optional row.
    const ir::type* optional = row_seen(t.root, 1);
    if (optional) {
      if (optional->k != kind::optional || !same_on_device(optional)) throw not_generated("the right row of a left join as a whole");
      const std::string name = k.type_name(optional);
      before = "  " + name + " right{};\n  right.has = build_row != no_row;\n  if (right.has) right.v = " +
               expressions::part_of(matched, 0, optional->element, k) + ";\n";
      e.bind(1, row_source::of_value("right", optional));
    }
  } else {
    e.bind(left_is_probe ? 1 : 0, matched);
  }
  const std::string v = e.converted(e.value(t.root), t.root->type, n.row);
  k.add("__device__ __forceinline__ " + type + " pair_of(const words& p, u64 probe_row, u64 build_row) {\n" + before + e.take() +
        "  return " + v + ";\n}\n");
  kernel("expand_output", "256",
         "  " + type + "* const out = " + arg(out, type + "*") + ";\n  expand_matches(" + arg(output_total) + ", " +
             arg(list, "const match_entry*") + ", " + arg(entry_total) + ", " + arg(build_rows, "const u64*") +
             ",\n    [&](u64 at, u64 probe_row, u64 build_row) { out[at] = pair_of(p, probe_row, build_row); });\n");
}

std::vector<bool> all_fields(const ir::type* row) { return std::vector<bool>(row->k == kind::record ? row->field_list.size() : 1, true); }

class joining {
 public:
  joining(const planner::stage& s, const device_rows& probe, const device_rows& build, vertex_run& run)
      : s_(s), run_(run), inputs_{&probe, &build}, probe_n_(probe.size()), build_n_(build.size()) {
    generate(g_, s, probe.layout(), build.layout());
  }

  result_rows go() {
    const auto table = gpu::table_bits(std::max<std::uint64_t>(build_n_, 1));
    const std::uint64_t slot_count = gpu::table_slots(table);
    const device_buffer slot_memory = run_.allocate(slot_count * g_.slot_bytes),
                        build_ids = run_.allocate(std::max<std::uint64_t>(build_n_, 1) * 4),
                        probe_ids = run_.allocate(std::max<std::uint64_t>(probe_n_, 1) * 4);
    run_.fill(slot_memory.address(), 0xff, slot_count * g_.slot_bytes);
    args_[slots] = slot_memory.address();
    args_[bits] = table;
    args_[id_count] = run_.status_word(ids_word);
    args_[full] = run_.status_word(full_word);
    args_[group_of_build] = build_ids.address();
    args_[group_of_probe] = probe_ids.address();
    if (build_n_) launch("map_build", blocks(build_n_));
    if (probe_n_) launch("lookup_probe", blocks(probe_n_));
    if (is_semi(s_.join->join)) return semi();

    run_.finish(g_.source);
    if (run_.read(full_word) & 0xffffffffu) throw resource_error("query: join: the GPU's table of keys is full");
    const std::uint64_t groups = run_.read(ids_word);
    using scan = gpu::scan_policy<std::uint64_t>;
    const device_buffer size_memory = run_.zeroed((groups + 1) * 8), offset_memory = run_.zeroed((groups + 1) * 8),
                        cursor_memory = run_.allocate((groups + 1) * 8),
                        row_memory = run_.allocate(std::max<std::uint64_t>(build_n_, 1) * 8),
                        scan_memory = run_.zeroed(gpu::scan_temp_bytes<scan, std::uint64_t>(groups));
    args_[sizes] = size_memory.address();
    args_[offsets] = offset_memory.address();
    args_[scan_temp] = scan_memory.address();
    args_[cursors] = cursor_memory.address();
    args_[build_rows] = row_memory.address();
    args_[scan_n] = groups;
    if (build_n_) launch("count_build", blocks(build_n_));
    if (groups) {
      const auto f = run_.compile(g_.source, "scan_sizes");
      run_.launch(g_.source, *f,
                  {static_cast<unsigned>(gpu::scan_blocks<scan>(groups, resident_blocks(*f, scan::threads))), scan::threads, 0}, inputs_,
                  args_);
    }
    copy(cursor_memory.address(), offset_memory.address(), (groups + 1) * 8);
    if (build_n_) launch("shuffle_build", blocks(build_n_));

    // The last entry behind the blocks of probe rows becomes the total.
    const std::uint64_t match = gpu::match_blocks(probe_n_);
    const device_buffer entry_memory = run_.zeroed((match + 1) * 8), output_memory = run_.zeroed((match + 1) * 8);
    args_[entries] = entry_memory.address();
    args_[outputs] = output_memory.address();
    args_[match_block_count] = match;
    if (match) launch("count_output", static_cast<unsigned>(match));
    launch("scan_output", 1, 1024);
    copy(run_.status_word(entries_word), entry_memory.address() + match * 8, 8);
    copy(run_.status_word(outputs_word), output_memory.address() + match * 8, 8);
    run_.finish(g_.source);
    const std::uint64_t total = run_.read(outputs_word), listed = run_.read(entries_word);
    device_buffer out_memory = run_.allocate(std::max<std::uint64_t>(total, 1) * s_.join->row->size);
    if (total) {
      const device_buffer list_memory = run_.allocate(listed * sizeof(gpu::match_entry));
      args_[list] = list_memory.address();
      args_[output_total] = total;
      args_[entry_total] = listed;
      args_[out] = out_memory.address();
      launch("list_output", static_cast<unsigned>(match));
      launch("expand_output", static_cast<unsigned>(gpu::expand_blocks(total)));
      run_.finish(g_.source);
    }
    return result(std::move(out_memory), total);
  }

 private:
  result_rows semi() {
    device_buffer out_memory = run_.allocate(std::max<std::uint64_t>(probe_n_, 1) * s_.join->row->size);
    using policy = gpu::compact_policy<std::uint64_t>;
    const device_buffer temporary = run_.zeroed(gpu::compact_temp_bytes<policy>(probe_n_));
    args_[out] = out_memory.address();
    args_[compact_temp] = temporary.address();
    args_[kept] = run_.status_word(kept_word);
    if (probe_n_) {
      const auto f = run_.compile(g_.source, "keep_rows");
      run_.launch(
          g_.source, *f,
          {static_cast<unsigned>(gpu::compact_blocks<policy>(probe_n_, resident_blocks(*f, policy::threads))), policy::threads, 0},
          inputs_, args_);
    }
    run_.finish(g_.source);
    if (run_.read(full_word) & 0xffffffffu) throw resource_error("query: join: the GPU's table of keys is full");
    return result(std::move(out_memory), run_.read(kept_word));
  }
  result_rows result(device_buffer rows, std::uint64_t n) {
    run_.reset_status();
    auto r = std::make_shared<device_rows>(run_.shared_gpu(), s_.join->row, n);
    r->add({0, s_.join->row}, std::move(rows));
    return r;
  }
  void launch(const char* entry, unsigned grid, unsigned block = 256) {
    run_.launch(g_.source, *run_.compile(g_.source, entry), {grid, block, 0}, inputs_, args_);
  }
  void copy(device_address to, device_address from, std::size_t bytes) {
    run_.copy(to, from, bytes);
  }
  unsigned blocks(std::uint64_t items) const {
    return static_cast<unsigned>(
        std::clamp<std::uint64_t>(gpu::divide_up(items, 256), 1, static_cast<std::uint64_t>(run_.gpu().on().multiprocessors()) * 16));
  }

  const planner::stage& s_;
  vertex_run& run_;
  std::array<const device_rows*, 2> inputs_;
  std::uint64_t probe_n_, build_n_;
  generated g_;
  std::array<std::uint64_t, argument_count> args_{};
};

}  // namespace

void plan_join(const planner::stage& s, const ir::type* probe) {
  generated g;
  generate(g, s, {probe, choose_columns(probe, all_fields(probe), false)},
           {s.build->row(), choose_columns(s.build->row(), all_fields(s.build->row()), false)});
}

result_rows run_join(const planner::stage& s, const std::shared_ptr<const device_rows>& probe, vertex_run& run) {
  const auto build = run.table(*s.build, all_fields(s.build->row()));
  return joining(s, *probe, *build, run).go();
}

}  // namespace query::gpu_engine
