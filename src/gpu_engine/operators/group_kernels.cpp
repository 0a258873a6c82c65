#include "gpu_engine/operators/group_kernels.hpp"

#include <algorithm>

#include "gpu_engine/codegen/column_parts.hpp"
#include "gpu_engine/codegen/nearest_search.hpp"
#include "gpu_primitives/group_shared.cuh"
#include "gpu_primitives/hash_table.cuh"

namespace query::gpu_engine {

namespace {

std::size_t rounded(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

bool needs_rows(const ir::group_plan& p) {
  return std::any_of(p.calls.begin(), p.calls.end(), [](const ir::aggregate_call& c) {
    return c.what == ir::aggregate_kind::first || c.what == ir::aggregate_kind::last || c.what == ir::aggregate_kind::arg_min ||
           c.what == ir::aggregate_kind::arg_max;
  });
}

// Sizes of what only generated code knows as types; checked there.
std::size_t slot_size(const group_key& key, const generated_aggregates& a) {
  const std::size_t lock = a.atomic ? 0 : 4, payload = rounded(a.state_bytes + lock, a.state_align);
  if (key.bytes == 4 || key.bytes == 8) {
    const std::size_t plain = rounded(rounded(key.bytes, a.state_align) + payload, std::max(key.bytes, a.state_align));
    return rounded(plain, std::max<std::size_t>(query::gpu::detail::slot_alignment(plain), a.state_align));
  }
  return rounded(rounded(rounded(4, 8) + 16, a.state_align) + payload, std::max<std::size_t>(16, a.state_align));
}

class writer {
 public:
  writer(group_kernels& g, const planner::vertex& v, const input_layout& in, group_output output)
      : g_(g), k_(g.source), v_(v), in_(in), n_(*v.node), output_(output) {}

  void write_rows(group_program what) {
    k_.include("gpu_primitives/group_aggregate.cuh");
    g_.plan = plan_of(k_, v_);
    rows(g_.plan, what != group_program::sample);
    if (what == group_program::sample) sample();
    else sizes();
  }
  void write_kernels(group_program what) {
    const bool finishes = output_ == group_output::rows;
    const std::string fetch = finishes && needs_rows(g_.plan) ? generate_rows(k_, v_.inputs.front(), in_, 0).name : "";
    if (finishes) generate_finish(k_, g_.plan, n_.key, n_.row, fetch, v_.inputs.front().row, n_.label, n_.where);
    g_.out = n_.row;
    emit();
    if (what == group_program::planned) return;
    if (what == group_program::labelled) {
      if (g_.aggregates.spread) labelled();
      return;
    }
    table();
    if (what == group_program::global) whole_table();
    switch (what) {
      case group_program::shared_thread:
        shared("thread");
        break;
      case group_program::shared_warp:
        shared("warp");
        break;
      case group_program::shared_block:
        shared("block");
        break;
      case group_program::partition_4:
        partition("4");
        break;
      case group_program::partition_8:
        partition("8");
        break;
      case group_program::partition_16:
        partition("16");
        break;
      default:
        break;
    }
  }

 private:
  std::string arg(group_argument a, std::string_view type = "u64") { return k_.argument(a, type); }
  void kernel(const std::string& name, const std::string& bounds, const std::string& body) {
    k_.add("extern \"C\" __global__ void __launch_bounds__(" + bounds + ") " + name + "(const __grid_constant__ words p) {\n" + body +
           "}\n");
  }

  // group_row: row i -> key and args; false if it is filtered out.
  void rows(const ir::group_plan& plan, bool with_aggregates) {
    row_pipeline row = generate_pipeline(k_, v_.inputs.front(), in_, 0);
    const ir::traced key = k_.trace(n_, n_.functions.front());
    if (n_.keys.equal) throw not_generated("keys have an equality of the user's own");
    g_.key = generate_group_key(k_, n_.key);
    expressions e(k_, k_.site(n_.label, n_.where));
    e.bind(0, row.row);
    if (row.row.what == row_source::form::columns) bind_nearest(e, k_, key.root, in_);
    const std::string key_text = e.converted(e.value(key.root), key.root->type, n_.key);
    std::string body = row.body + e.take();
    g_.aggregates = {};
    if (with_aggregates) {
      // Sums by whole warps do not look at rows: they cannot tell the first.
      std::vector<std::string> in_memory;
      if (!v_.ordered)
        for (const ir::aggregate_call& c : plan.calls)
          in_memory.push_back(c.argument ? place_in_input(k_, v_.inputs.front(), in_, c.argument) : std::string());
      g_.aggregates = generate_aggregates(k_, plan, e, in_memory, v_.ordered);
    } else
      k_.add("struct aggregates { struct Args {}; };\n");
    const std::string type = k_.type_name(n_.key);
    if (g_.key.bytes) {
      k_.add("using Keys = bitwise_keys<" + g_.key.type + ">;\n");
      row_body(body + "  key = " + g_.key.encode + "(" + key_text + ");\n" + g_.aggregates.fill, row.loops || e.loops());
      return;
    }
    // Keys of any width: rows are compared by the keys that they give.
    k_.add("__device__ __noinline__ bool key_of(const words& p, u64 i, " + type + "& key) {\n" + body + "  key = " + key_text +
           ";\n  return true;\n}\n");
    k_.add("struct rows_equal {\n  const words* p;\n  __device__ bool operator()(u64 a, u64 b) const {\n    " + type +
           " x{}, y{};\n    key_of(*p, a, x);\n    key_of(*p, b, y);\n    return " + g_.key.equal +
           "(x, y);\n  }\n};\nusing Keys = row_keys<rows_equal>;\n");
    row_body(body + "  key = row_key{" + g_.key.hash + "(" + key_text + "), i};\n" + g_.aggregates.fill, row.loops || e.loops());
  }
  void row_body(const std::string& body, bool loops) {
    k_.add("using Key = Keys::key_type;\n__device__ " + inlining(loops) +
           " bool group_row(const words& p, u64 i, Key& key, aggregates::Args& args) {\n" + body + "  return true;\n}\n");
  }
  std::string keys() const { return g_.key.bytes ? "Keys{}" : "Keys{{&p}}"; }
  static const char* row() { return "[&](u64 i, Key& key, aggregates::Args& args) { return group_row(p, i, key, args); }"; }

  void sample() {
    kernel("sample_groups", "256",
           // Every row goes into the table of all and into that of its half. Tables begin with a bucket: three slots more than they have.
           "  const auto table = [&](u64 which) {\n    return table_of_ids<Keys>{{(hash_table_ref<Keys, u32>::slot*)" + arg(slots) +
               " + which * (table_slots((u32)" + arg(bits) + ") + 3), (u32)" + arg(bits) + "}, " + arg(sample_count, "u64*") +
               " + which, 1u << 30, " +
               arg(full, "u32*") + "};\n  };\n  for (u64 j = blockIdx.x * 256ull + threadIdx.x; j < " + arg(sample_rows) +
               "; j += gridDim.x * 256ull) {\n    Key key;\n    aggregates::Args args;\n"
               "    if (!group_row(p, sampled_row(j, " +
               arg(sample_stride) + "), key, args)) continue;\n    take_one(" + arg(sample_kept, "u64*") +
               ");\n#pragma unroll 1\n    for (u32 all = 0; all < 2; ++all) find_or_insert_id(table(all ? 0 : 1 + (j & 1)), " + keys() +
               ", key, [](u32) {});\n  }\n");
    g_.slot_bytes = g_.key.bytes == 4 || g_.key.bytes == 8 ? 2 * g_.key.bytes : 32;
    k_.add("static_assert(sizeof(hash_table_ref<Keys, u32>::slot) == " + std::to_string(g_.slot_bytes) + ");\n");
  }

  void sizes() {
    g_.key_bytes = g_.key.bytes ? g_.key.bytes : 16;
    g_.slot_bytes = slot_size(g_.key, g_.aggregates);
    const std::size_t key_align = g_.key_bytes == 4 ? 4 : 8;
    g_.partial_bytes = rounded(rounded(g_.key_bytes, g_.aggregates.state_align) + g_.aggregates.state_bytes,
                               std::max(key_align, g_.aggregates.state_align));
  }
  void emit() {
    k_.add(
        "using table = group_table<Keys, aggregates>;\nusing partial = group_partial<Key, aggregates::State>;\n"
        "static_assert(sizeof(table::slot) == " +
        std::to_string(g_.slot_bytes) + ");\nstatic_assert(sizeof(partial) == " + std::to_string(g_.partial_bytes) + ");\n");
    const std::string key = g_.key.bytes ? g_.key.decode + "(key)" : "k";
    std::string body;
    if (!g_.key.bytes) body = "  " + k_.type_name(n_.key) + " k{};\n  key_of(p, key.row, k);\n";
    if (v_.ordered) body += "  " + arg(first_rows, "u64*") + "[at] = s.first_row;\n";
    if (output_ == group_output::rows)
      body += "  (" + arg(out, k_.type_name(n_.row) + "*") + ")[at] = finish_group(p, " + key + ", s);\n";
    else
      body += "  partial x;\n  x.key = key;\n  x.state = s;\n  (" + arg(out, "partial*") + ")[at] = x;\n";
    k_.add(
        "__device__ __forceinline__ void emit_group(const words& p, u64 at, const Key& key, const aggregates::State& s) {\n  if (at >= " +
        arg(out_capacity) + ") return;\n" + body + "}\n");
    k_.add("__device__ __forceinline__ table the_table(const words& p) { return {(table::slot*)" + arg(slots) + ", (u32)" + arg(bits) +
           "}; }\n");
    k_.add("__device__ __forceinline__ tiles_again the_list(const words& p) { return {" + arg(again_tiles, "u64*") + ", " +
           arg(again_count, "u64*") + ", " + arg(full, "u32*") + "}; }\n");
  }
  std::string all_rows() { return "group_rows{" + k_.parameter({word::role::rows, 0, 0, 0}, "u64") + ", " + listed() + "}"; }
  std::string listed() { return arg(listed_tiles, "const u64*") + ", " + arg(listed_count); }
  static std::string items() { return std::to_string(group_items); }

  void table() {
    kernel("init_table", "256", "  init_groups<Keys, aggregates>(the_table(p));\n");
    // Groups are not complete as long as rows have no place: what is computed of them could fail.
    const std::string left = arg(full, "const u32*"), left_before = arg(full_before, "const u64*");
    kernel("emit_table", "256",
           "  const u32* const left = " + left + ";\n  const u64* const left_before = " + left_before +
               ";\n  if ((left && *left) || (left_before && *left_before)) return;\n  emit_groups<Keys, aggregates>(the_table(p), " +
               arg(group_count, "u64*") + ", [&](u64 at, const Key& key, const aggregates::State& s) { emit_group(p, at, key, s); });\n");
  }
  // What other programs need only when a table was too small.
  void whole_table() {
    kernel("grow_table", "256",
           "  grow_groups<Keys, aggregates>(the_table(p), table{(table::slot*)" + arg(larger_slots) + ", (u32)" + arg(larger_bits) + "}, " +
               arg(full, "u32*") + ", " + keys() + ");\n");
    kernel("aggregate_rows", "256",
           "  aggregate_global<" + std::string(g_.aggregates.spread ? "1" : items()) + ">(" + all_rows() + ", the_table(p), the_list(p), " +
               keys() + ", " + row() + ");\n");
  }
  std::string shape() {
    return "{(u32)" + arg(threads) + ", (u32)" + arg(capacity) + ", (u32)" + arg(word_bits) + ", (u32)" + arg(shape_bytes) + "}";
  }
  std::string entries() { return "group_rows{" + arg(partial_entries) + ", " + listed() + "}"; }

  void shared(const std::string& copies) {
    const bool spread = g_.aggregates.spread && copies != "thread";
    // Several blocks a multiprocessor: what merges a block's states wants more registers than what reads the rows.
    const std::string blocks = g_.aggregates.state_bytes <= 200 ? ", 3" : ", 2";
    kernel("aggregate_shared_rows", spread ? std::to_string(query::gpu::spread_threads) + blocks : "1024, 1",
           "  extern __shared__ __align__(16) unsigned char shared[];\n  const shared_group_params<Keys, aggregates> g{" + all_rows() +
               ", " + shape() + ", the_table(p), the_list(p), " + arg(partials, "partial*") + ", " + arg(partial_counts, "u32*") +
               "};\n  aggregate_shared<group_copies::" + (spread && copies == "block" ? "memory" : copies) + ", " +
               (spread ? "1" : items()) + ">(g, " + keys() + ", " + row() + ", shared);\n");
    kernel("merge_partials", "256",
           "  merge_groups(" + entries() + ", the_table(p), the_list(p), " + keys() + ", shared_partials<Key, aggregates::State>{" +
               arg(partials, "const partial*") + ", " + arg(partial_counts, "const u32*") + ", (u32)" + arg(capacity) + "});\n");
  }

  // A state for each number that a key may be.
  void labelled() {
    k_.include("gpu_engine/device/labelled_sums.cuh");
    const std::string states = arg(slots, "aggregates::State*"), sizes = arg(counts, "u32*"), labels = "(u32)" + arg(capacity),
                      answers = k_.parameter({word::role::column, 0, in_.nearest_column, 0}, "const u64* __restrict__");
    kernel("init_labels", "64",
           "  const u32 l = blockIdx.x * 64 + threadIdx.x;\n  if (l >= " + labels + ") return;\n  aggregates::init(" + states +
               "[l]);\n  " + sizes + "[l] = 0;\n");
    kernel("sum_labels", "labelled_threads",
           "  extern __shared__ __align__(16) unsigned char shared[];\n  sum_by_label<aggregates>(" +
               k_.parameter({word::role::rows, 0, 0, 0}, "u64") + ", " + labels + ", (u32)" + arg(chunk) +
               ", [&](u64 i, u32& label, aggregates::Args& args) {\n    Key key;\n    if (!group_row(p, i, key, args)) return false;\n"
               "    label = (u32)" +
               answers + "[i];\n    return true;\n  }, " + states + ", " + sizes + ", shared);\n");
    kernel("emit_labels", "64",
           "  const u32 l = blockIdx.x * 64 + threadIdx.x;\n  if (l >= " + labels + " || " + sizes +
               "[l] == 0) return;\n  emit_group(p, atomicAdd(" + arg(group_count, "u64*") + ", 1ull), " + g_.key.encode + "((" +
               k_.type_name(n_.key) + ")l), " + states + "[l]);\n");
  }

  void partition(const std::string& scatter_items) {
    const std::string places = "partition_places{(u32)" + arg(place_bits) + ", (u32)" + arg(place_shift) + ", " + arg(chunk) + ", " +
                               arg(counts, "u64*") + ", " + arg(starts, "u64*") + ", " + arg(cursors, "u64*") + ", " +
                               arg(item_starts, "u64*") + ", " + arg(partition_room) + ", " + arg(crowded, "u64*") + ", " +
                               arg(largest, "u64*") + "}";
    const std::string n = k_.parameter({word::role::rows, 0, 0, 0}, "u64"),
                      shared = "  extern __shared__ __align__(16) unsigned char shared[];\n";
    const std::string scattered = "scattered_rows<Key, aggregates::Args>{" + arg(scattered_keys, "const Key*") + ", " +
                                  arg(scattered_args, "const aggregates::Args*") + "}";
    kernel("count_rows", "512",
           shared + "  count_partitions<8, aggregates::Args>(" + n + ", " + places + ", " + keys() + ", " + row() + ", shared);\n");
    kernel("plan_rows", "1024", "  plan_partitions(" + places + ");\n");
    kernel("scatter_rows", "1024, 1",
           shared + "  scatter_partitions<" + scatter_items + ">(" + n + ", " + places + ", " + arg(scattered_keys, "Key*") + ", " +
               arg(scattered_args, "aggregates::Args*") + ", " + keys() + ", " + row() + ", shared);\n");
    kernel("aggregate_partition", "1024, 1",
           shared + "  const partition_group_params<Keys, aggregates> g{" + places + ", " + shape() + ", the_table(p), the_list(p), " +
               arg(partials, "partial*") + ", " + arg(partial_count, "u64*") + ", " + arg(group_count, "u64*") +
               "};\n  aggregate_partitions<" + items() + ">(g, " + keys() + ", " + scattered +
               ", [&](u64 at, const Key& key, const aggregates::State& s) { emit_group(p, at, key, s); }, shared);\n");

    kernel("merge_partials", "256",
           "  merge_groups(" + entries() + ", the_table(p), the_list(p), " + keys() + ", plain_partials<Key, aggregates::State>{" +
               arg(partials, "const partial*") + "});\n");
  }

  group_kernels& g_;
  kernel_source& k_;
  const planner::vertex& v_;
  const input_layout& in_;
  const detail::logical& n_;
  const group_output output_;
};

}  // namespace

ir::group_plan plan_of(kernel_source& k, const planner::vertex& v) {
  const detail::logical& n = *v.node;
  const ir::traced t = k.trace(n, n.functions.back());
  ir::group_analysis a = ir::plan_group_function(t, n.what == detail::verb::group_by ? n.key : nullptr, n.row);
  if (!a.plan) throw not_generated("the function of groups: " + a.reason);
  return std::move(*a.plan);
}

group_kernels generate_group_kernels(const planner::vertex& v, const input_layout& in, group_program what, group_output output) {
  group_kernels g;
  writer w(g, v, in, output);
  w.write_rows(what);
  if (what != group_program::sample && what != group_program::rows) w.write_kernels(what);
  return g;
}

group_kernels generate_group_kernels(const group_kernels& rows, const planner::vertex& v, const input_layout& in, group_program what,
                                     group_output output) {
  group_kernels g = rows;
  g.source = rows.source.begun();
  writer(g, v, in, output).write_kernels(what);
  return g;
}

std::vector<bool> group_fields(const planner::vertex& v) {
  kernel_source k;
  const ir::group_plan plan = plan_of(k, v);
  std::vector<const ir::node*> above;
  const bool keyed = v.node->what == detail::verb::group_by;
  const ir::traced key = keyed ? k.trace(*v.node, v.node->functions.front()) : ir::traced();
  if (keyed) above.push_back(key.root);
  for (const ir::aggregate_call& c : plan.calls) {
    if (c.argument) above.push_back(c.argument);
    if (c.update) above.push_back(c.update);
  }
  return fields_read(v.inputs.front(), needs_rows(plan), above);
}

}  // namespace query::gpu_engine
