#include "gpu_engine/operators/in_order_kernels.hpp"

#include "gpu_engine/codegen/group_keys.hpp"
#include "gpu_engine/codegen/keyed_rows.hpp"
#include "gpu_primitives/hash_table.cuh"

namespace query::gpu_engine::in_order {

using ir::aggregate_call;
using ir::aggregate_kind;

namespace {

class writer {
 public:
  writer(kernels& g, const planner::vertex& v, const input_layout& in, output what)
      : g_(g), k_(g.source), v_(v), n_(*v.node), in_(in), of_block_(what == output::state_of_block),
        of_groups_(what == output::states_of_block), site_(k_.site(n_.label, n_.where)) {}

  void write() {
    k_.include("gpu_primitives/segments.cuh");
    k_.include("gpu_primitives/grouper.cuh");
    k_.include("gpu_primitives/hash_keys.cuh");
    k_.include("gpu_primitives/sort_keys.cuh");
    if (n_.keys.equal) throw not_generated("keys have an equality of the user's own");
    g_.plan = plan_of(k_, v_);
    g_.value_slot_bytes.assign(g_.plan.calls.size(), 0);
    if (keyed(v_)) map();
    for (std::size_t j = 0; j < g_.plan.calls.size(); ++j)
      if (wants_sorted(g_.plan.calls[j])) values(g_.plan.calls[j], std::to_string(j));
    aggregates();
    numbering();
    folds();
    if (of_block_) blocks();
    if (of_groups_) pairs_of_groups();
  }

 private:
  std::string arg(std::uint32_t a, std::string_view type = "u64") { return k_.argument(a, type); }
  std::string rows() { return k_.parameter({word::role::rows, 0, 0, 0}, "u64"); }
  std::string group() { return keyed(v_) ? arg(group_of, "const u32*") + "[i]" : "0u"; }
  void kernel(const std::string& name, const std::string& body) {
    k_.add("extern \"C\" __global__ void __launch_bounds__(256) " + name + "(const __grid_constant__ words p) {\n" + body + "}\n");
  }
  void each_row(const std::string& name, const std::string& body) {
    kernel(name, "  for (u64 at = blockIdx.x * 256ull + threadIdx.x; at < " + rows() + "; at += gridDim.x * 256ull) {\n" + body + "  }\n");
  }

  // Rows to numbers of groups.
  void map() {
    const keyed_side sides[] = {{"key_of_group", &n_.functions.front(), input_rows(k_, in_, 0, "i")}};
    const keyed_rows keys = generate_keyed_rows(k_, n_, sides, true);
    g_.slot_bytes = keys.slot_bytes(4);
    k_.add("using table = hash_table_ref<Keys, u32>;\nstatic_assert(sizeof(table::slot) == " + std::to_string(g_.slot_bytes) + ");\n");
    if (of_groups_ && !keys.key_bytes) throw not_generated("the keys of groups of blocks are strings, or of more than 16 bytes");
    g_.key_bytes = keys.key_bytes;
    decode_ = keys.decode;
    const std::string created =
        of_groups_ ? "[&](u32 id, u64 i) { key_of_group(p, i, (" + arg(group_keys, "Key*") + ")[id]); }" : std::string("[](u32, u64) {}");
    kernel("map_rows", "  map_keys(" + rows() + ", " + ids_of_keys(table_at, table_size) + ", " + arg(group_of, "u32*") + ", " +
                           keys.object + ", [&](u64 i, Key& key) { return key_of_group(p, i, key); }, " + created + ");\n");
  }
  std::string ids_of_keys(argument at, argument size) {
    return "table_of_ids<Keys>{table{(table::slot*)" + arg(at) + ", (u32)" + arg(size) + "}, " + arg(id_count, "u64*") + ", " +
           (of_groups_ ? arg(most_ids) : std::to_string(most_groups) + "ull") + ", " + arg(table_full, "u32*") + "}";
  }

  // word_<j>(p, i): the value of row i as a word in its order; present_<j>: is there one? number_<j>: as quantiles see it.
  void values(const aggregate_call& c, const std::string& j) {
    const auto function = [&](const std::string& type, const std::string& name, const auto& result) {
      expressions e(k_, site_);
      e.bind(0, input_rows(k_, in_, 0, "i"));
      const std::string v = e.value(c.argument), text = result(c.nullable ? v + ".v" : v, c.nullable ? v + ".has" : "true");
      k_.add("__device__ __forceinline__ " + type + " " + name + j + "(const words& p, u64 i) {\n" + e.take() + "  return " + text +
             ";\n}\n");
    };
    function("bool", "present_", [](const std::string&, const std::string& has) { return has; });
    const std::string as = c.what == aggregate_kind::quantile ? "double" : std::string(scalar_text(c.value->k));
    if (wants_numbered(c)) {
      function(k_.type_name(c.value), "value_", [](const std::string& v, const std::string&) { return v; });
      map_values(c, j);
    } else {
      function("u64", "word_", [&](const std::string& v, const std::string& has) {
        return "(" + has + " ? u64(sort_key<" + as + ">((" + as + ")" + v + ")) : u64(0))";
      });
    }
    if (c.what == aggregate_kind::quantile)
      function("double", "number_", [](const std::string& v, const std::string&) { return "(double)" + v; });
    each_row("value_words_" + j, "    " + arg(numbers, "u64*") + "[at] = word_" + j + "(p, at);\n");
    each_row("group_words_" + j, "    const u64 i = " + arg(row_order, "const u64*") + "[at];\n    " + arg(numbers, "u64*") +
                                     "[at] = u64(" + group() + ") << 1 | (present_" + j + "(p, i) ? 0 : 1);\n");
  }

  // Values to numbers, equal ones to the same; those of rows without a value mean nothing. word_<j>(p, i): that of row i.
  void map_values(const aggregate_call& c, const std::string& j) {
    const group_key key = generate_group_key(k_, c.value);
    keyed_rows sizes;
    sizes.key_bytes = key.bytes;
    const std::size_t bytes = g_.value_slot_bytes[std::stoul(j)] = sizes.slot_bytes(4);
    const std::string keys = "Values_" + j, table = "table_" + keys, value = "value_" + j + "(p, i)",
                      ids = arg(of_calls + 2 * static_cast<std::uint32_t>(std::stoul(j)) + 1, "u32*");
    if (!key.bytes)
      k_.add("struct values_equal_" + j + " {\n  const words* p;\n  __device__ bool operator()(u64 a, u64 b) const { return " + key.equal +
             "(value_" + j + "(*p, a), value_" + j + "(*p, b)); }\n};\n");
    k_.add("using " + keys + " = " + (key.bytes ? "bitwise_keys<" + key.type : "row_keys<values_equal_" + j) + ">;\nusing " + table +
           " = hash_table_ref<" + keys + ", u32>;\nstatic_assert(sizeof(" + table + "::slot) == " + std::to_string(bytes) + ");\n");
    kernel("map_values_" + j, "  map_keys(" + rows() + ", table_of_ids<" + keys + ">{" + table + "{(" + table + "::slot*)" + arg(table_at) +
                                  ", (u32)" + arg(table_size) + "}, " + arg(id_count, "u64*") + ", " + std::to_string(most_groups) +
                                  "ull, " + arg(table_full, "u32*") + "}, " + ids + ", " + keys + (key.bytes ? "{}" : "{{&p}}") +
                                  ", [&](u64 i, " + keys + "::key_type& key) {\n    if (!present_" + j +
                                  "(p, i)) return false;\n    key = " +
                                  (key.bytes ? key.encode + "(" + value + ")" : "row_key{" + key.hash + "(" + value + "), i}") +
                                  ";\n    return true;\n  }, [](u32, u64) {});\n");
    k_.add("__device__ __forceinline__ u64 word_" + j + "(const words& p, u64 i) { return u64((" + ids + ")[i]); }\n");
  }

  void aggregates() {
    expressions e(k_, site_);
    const bool tiles = in_tiles(v_, g_.plan);
    std::string before;
    if (tiles) {
      const row_pipeline row = generate_pipeline(k_, v_.inputs.front(), in_, 0);
      before = "  if (i >= " + rows() + ") return false;\n" + row.body;
      e.bind(0, row.row);
    } else {
      e.bind(0, input_rows(k_, in_, 0, "i"));
    }
    const rows_by_group by{input_rows(k_, in_, 0, "a.at"), site_, of_calls};
    g_.aggregates = generate_aggregates_in_order(k_, g_.plan, e, by);
    k_.add("__device__ __forceinline__ bool row_at(const words& p, u64 i, u64 place, bool first, aggregates::Args& args) {\n" + before +
           g_.aggregates.fill + "  return true;\n}\n");
    const ir::type* row = v_.inputs.front().row;
    std::string fetch = g_.aggregates.row_numbers ? "fetch_row" : "";
    if (!fetch.empty() && tiles)
      fetch = generate_rows(k_, v_.inputs.front(), in_, 0).name;
    else if (!fetch.empty())
      k_.add("__device__ __forceinline__ void fetch_row(const words& p, u64 i, " + k_.type_name(row) + "& out) {\n  out = " +
             expressions::part_of(input_rows(k_, in_, 0, "i"), 0, row, k_) + ";\n}\n");
    fetch_ = fetch;
    if (of_block_ && !fetch.empty()) {
      // Rows of blocks before are kept beside the state, each under the number of its call.
      const std::string type = k_.type_name(row);
      fetch = "fetch_kept";
      k_.add("__device__ __forceinline__ void fetch_kept(const words& p, u64 call, " + type + "& out) {\n  out = (" +
             arg(kept_rows, "const " + type + "*") + ")[call];\n}\n");
    }
    generate_finish(k_, g_.plan, keyed(v_) ? n_.key : nullptr, n_.row, fetch, row, n_.label, n_.where, of_calls);
  }

  // Rows by their numbers, and the groups of those.
  void numbering() {
    each_row("number_rows", "    " + arg(numbered, "u64*") + "[at] = at;\n");
    each_row("number_groups", "    const u64 i = at;\n    " + arg(numbers, "u64*") + "[at] = " + group() + ";\n");
  }

  void folds() {
    const std::string key = keyed(v_) ? "key_of_group_value(p, s.first_row), " : "";
    const bool tiles = in_tiles(v_, g_.plan);
    const std::string result = arg(result_at, k_.type_name(n_.row) + "*");
    const std::string empty =
        tiles ? "if (s.first_row == ~u64(0)) {\n    *" + arg(nothing, "u64*") + " = 1;\n    return;\n  }\n  " : std::string();
    const std::string first = v_.ordered ? arg(firsts, "u64*") + "[group] = s.first_row;\n  " : std::string();
    if (of_groups_) meeting();
    const std::string becomes = of_groups_ ? "aggregates::State later = s;\n  later.first_row += " + arg(rows_before) +
                                                 ";\n  meet_group(p, group, later)"
                                : of_block_ ? "*(" + arg(result_at, "aggregates::State*") + ") = s"
                                            : empty + first + "(" + result + ")[group] = finish_group(p, " + key + "s)";
    k_.add("__device__ __forceinline__ void emit_group(const words& p, u32 group, const aggregates::State& s) {\n  " + becomes + ";\n}\n");
    k_.add("using level = segment_level<aggregates::State>;\n");
    const std::string n = arg(items);
    const auto level = [&](std::uint32_t marks, std::uint32_t states) {
      const std::string at = arg(marks, "u64*");
      return "level{" + at + ", (aggregates::State*)" + arg(states) + "}";
    };
    const std::string to = level(marks_out, states_out), emit = "[&](u32 group, const aggregates::State& s) { emit_group(p, group, s); }";
    const std::string order = arg(row_order, "const u64*"), of = group();
    kernel("fold_segments",
           "  const u64* const order = " + order + ";\n  fold_rows(" + n + ", " + to +
               ",\n    [&](u64 at) -> u32 { const u64 i = order ? order[at] : at; (void)i; return " + of +
               "; },\n    [&](aggregates::State& s) { aggregates::init(p, s); },\n"
               "    [&](aggregates::State& s, u64 at, bool first) {\n      aggregates::Args args;\n      if (row_at(p, " +
               (tiles ? "at / " + std::to_string(tile_rows) + " * " + std::to_string(tile_rows) +
                            " + at % segment_piece * 256 + at / segment_piece % 256"
                      : std::string("order ? order[at] : at")) +
               ", at, first, args)) aggregates::update(p, s, args);\n    },\n    " +
               emit + ");\n");
    kernel("fold_level", "  fold_states(" + n + ", " + level(marks_in, states_in) + ", " + to +
                             ",\n    [&](aggregates::State& s, const aggregates::State& o) { aggregates::merge(p, s, o); },\n    " + emit +
                             ");\n");
  }

  // The state of a block to that of those before it, the later one; and the row of all.
  void blocks() {
    const std::string type = k_.type_name(v_.inputs.front().row);
    const std::string all = "  if (blockIdx.x || threadIdx.x) return;\n  aggregates::State& all = *(" +
                            arg(state_of_all, "aggregates::State*") + ");\n  u64* const begun = " + arg(begun, "u64*") + ";\n";
    std::string renumber, keep, name;
    for (std::size_t j = 0; j < g_.plan.calls.size(); ++j) {
      if (!names_row(g_.plan.calls[j])) continue;
      const std::string n = "n" + std::to_string(j), none = " != ~u64(0)";
      renumber += "  if (s." + n + none + ") s." + n + " += before;\n";
      keep += "  if (s." + n + none + " && all." + n + " == s." + n + ") " + fetch_ + "(p, s." + n + " - before, (" +
              arg(kept_rows, type + "*") + ")[" + std::to_string(j) + "]);\n";
      name += "  if (s." + n + none + ") s." + n + " = " + std::to_string(j) + ";\n";
    }
    kernel("take_block", all + "  aggregates::State s = *(" + arg(result_at, "const aggregates::State*") +
                             ");\n  if (s.first_row == ~u64(0)) return;\n  const u64 before = " + arg(rows_before) +
                             ";\n  (void)before;\n  s.first_row += before;\n" + renumber +
                             "  if (*begun) aggregates::merge(p, all, s);\n  else all = s;\n  *begun = 1;\n" + keep);
    kernel("finish_blocks", all + "  if (!*begun) {\n    *" + arg(nothing, "u64*") +
                                " = 1;\n    return;\n  }\n  aggregates::State s = all;\n" + name + "  *(" +
                                arg(result_at, k_.type_name(n_.row) + "*") + ") = finish_group(p, s);\n");
  }

  // A state of later rows to that of the group's rows before; memory filled with ones holds none. One thread a group.
  void meeting() {
    k_.add("__device__ __forceinline__ void meet_group(const words& p, u32 group, const aggregates::State& later) {\n"
           "  aggregates::State& all = (" +
           arg(group_states, "aggregates::State*") +
           ")[group];\n  if (all.first_row == ~u64(0)) all = later;\n  else aggregates::merge(p, all, later);\n}\n");
  }

  // Groups of blocks: into a larger table; to the host and back as pairs, each key once in a launch; and at the end to rows.
  void pairs_of_groups() {
    const std::size_t key = g_.key_bytes, align = g_.aggregates.state_align, key_align = std::min<std::size_t>(key, 8);
    const auto rounded = [](std::size_t n, std::size_t to) { return (n + to - 1) / to * to; };
    g_.pair_bytes = rounded(rounded(key, align) + g_.aggregates.state_bytes, std::max(align, key_align));
    k_.add("struct key_and_state {\n  Key key;\n  aggregates::State state;\n};\nstatic_assert(sizeof(key_and_state) == " +
           std::to_string(g_.pair_bytes) + ");\nstatic_assert(sizeof(Key) == " + std::to_string(key) + ");\n");
    const std::string keys = arg(group_keys, "Key*"), states = arg(group_states, "aggregates::State*"), first = arg(first_pair),
                      out = arg(pairs, "key_and_state*"), in = arg(pairs, "const key_and_state*"), n = arg(items);
    const auto each = [&](const std::string& name, const std::string& body) {
      kernel(name, "  for (u64 at = blockIdx.x * 256ull + threadIdx.x; at < " + n + "; at += gridDim.x * 256ull) {\n" + body + "  }\n");
    };
    kernel("grow_ids_of_groups", "  grow_ids(" + ids_of_keys(table_at, table_size) + ", " + ids_of_keys(larger_table, larger_size) +
                                     ", Keys{});\n  if (blockIdx.x == 0 && threadIdx.x == 0) *(" + arg(id_count, "u64*") + ") = " +
                                     arg(ids_given) + ";\n");
    // A group without a state is of rows that come again. Other bits than those that place a key in a table.
    each("spill_states", "    const u64 id = " + first + " + at;\n    const Key key = (" + keys + ")[id];\n    (" + out +
                             ")[at].key = key;\n    (" + out + ")[at].state = (" + states + ")[id];\n    (" + arg(places, "u32*") +
                             ")[at] = (" + states + ")[id].first_row == ~u64(0) ? ~0u : u32(mix64(Keys{}.hash(key) + " + arg(spill_seed) +
                             ") >> 32) % " + std::to_string(state_parts) + "u;\n");
    kernel("map_pairs", "  map_keys(" + n + ", " + ids_of_keys(table_at, table_size) + ", " + arg(group_of, "u32*") +
                            ", Keys{}, [&](u64 i, Key& key) {\n    key = (" + in +
                            ")[i].key;\n    return true;\n  }, [&](u32 id, u64 i) { (" + keys + ")[id] = (" + in + ")[i].key; });\n");
    each("meet_pairs", "    meet_group(p, (" + arg(group_of, "const u32*") + ")[at], (" + in + ")[at].state);\n");
    each("finish_states", "    (" + arg(result_at, k_.type_name(n_.row) + "*") + ")[at] = finish_group(p, " + decode_ + "((" + keys +
                              ")[at]), (" + states + ")[at]);\n");
  }

  kernels& g_;
  kernel_source& k_;
  const planner::vertex& v_;
  const detail::logical& n_;
  const input_layout& in_;
  const bool of_block_, of_groups_;
  std::uint32_t site_;
  std::string decode_;  // of a key as the table has it
  std::string fetch_;  // the name of a function that gives the row of a number, where some aggregate is one
};

}  // namespace

kernels generate(const planner::vertex& v, const input_layout& in, output what) {
  kernels g;
  writer(g, v, in, what).write();
  return g;
}

}  // namespace query::gpu_engine::in_order
