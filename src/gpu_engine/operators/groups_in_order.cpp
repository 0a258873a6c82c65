// Groups whose rows lie side by side in their order, for aggregates that a table of states cannot hold: count_distinct, quantiles,
// lists, and the user's own; and aggregates of all rows, one group without a key.
//
// A table maps keys to numbers of groups; row numbers are sorted by them, stable; runs of equal groups are folded
// (gpu_primitives/segments.cuh). Aggregates of sorted values have an order of rows of their own: by group, then by value, nulls last.
#include <algorithm>

#include <query/errors.hpp>

#include "gpu_engine/codegen/keyed_rows.hpp"
#include "gpu_engine/operators/group_kernels.hpp"
#include "gpu_engine/operators/join_kernels.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_primitives/hash_table.cuh"
#include "gpu_primitives/segments.cuh"

namespace query::gpu_engine {

using ir::aggregate_call;
using ir::aggregate_kind;

namespace {

// Arguments of the kernels. Those of the calls come behind them, two a call (rows_by_group).
enum argument : std::uint32_t {
  table_at,
  table_size,
  table_full,
  id_count,
  group_of,
  numbers,
  numbered,
  row_order,
  marks_in,
  states_in,
  items,
  marks_out,
  states_out,
  result_at,
  firsts,
  nothing,
  of_calls
};
enum status : std::size_t { full_word = 1, ids_word, nothing_word };

constexpr std::uint64_t most_groups = 0xfffffff0ull;
constexpr std::uint32_t first_bits = 20, growth_bits = 4, spare_bits = 3;

struct generated {
  kernel_source source;
  ir::group_plan plan;
  generated_aggregates aggregates;
  std::size_t slot_bytes = 16;
};

bool keyed(const planner::vertex& v) { return v.node->what == detail::verb::group_by; }

// All rows as one group whose aggregates care for row numbers alone: they are read as they lie, neighbours by neighbouring threads, and
// the row-wise work before them is done on the way. Which rows meet depends on their number only, so sums repeat bit for bit.
constexpr std::uint64_t tile_rows = gpu::segment_piece * 256;
bool in_tiles(const planner::vertex& v, const ir::group_plan& plan) {
  return !keyed(v) && std::none_of(plan.calls.begin(), plan.calls.end(), wants_rows_by_group);
}

class writer {
 public:
  writer(generated& g, const planner::vertex& v, const input_layout& in)
      : g_(g), k_(g.source), v_(v), n_(*v.node), in_(in), site_(k_.site(n_.label, n_.where)) {}

  void write() {
    k_.include("gpu_primitives/segments.cuh");
    k_.include("gpu_primitives/grouper.cuh");
    k_.include("gpu_primitives/hash_keys.cuh");
    k_.include("gpu_primitives/sort_keys.cuh");
    if (n_.keys.equal) throw not_generated("keys have an equality of the user's own");
    g_.plan = plan_of(k_, v_);
    if (keyed(v_)) map();
    for (std::size_t j = 0; j < g_.plan.calls.size(); ++j)
      if (wants_sorted(g_.plan.calls[j])) values(g_.plan.calls[j], std::to_string(j));
    aggregates();
    numbering();
    folds();
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
    kernel("map_rows", "  map_keys(" + rows() + ", table_of_ids<Keys>{table{(table::slot*)" + arg(table_at) + ", (u32)" + arg(table_size) +
                           "}, " + arg(id_count, "u64*") + ", " + std::to_string(most_groups) + "ull, " + arg(table_full, "u32*") + "}, " +
                           arg(group_of, "u32*") + ", " + keys.object +
                           ", [&](u64 i, Key& key) { return key_of_group(p, i, key); }, [](u32, u64) {});\n");
  }

  // word_<j>(p, i): the value of row i as a word in its order; present_<j>: is there one? number_<j>: as quantiles see it.
  void values(const aggregate_call& c, const std::string& j) {
    if (!ir::is_arithmetic(c.value->k))
      throw not_generated("the aggregate " + std::string(ir::name_of(c.what)) + " of " + std::string(c.value->name) +
                          " has no form on the GPU yet");
    const auto function = [&](const std::string& type, const std::string& name, const auto& result) {
      expressions e(k_, site_);
      e.bind(0, input_rows(k_, in_, 0, "i"));
      const std::string v = e.value(c.argument), text = result(c.nullable ? v + ".v" : v, c.nullable ? v + ".has" : "true");
      k_.add("__device__ __forceinline__ " + type + " " + name + j + "(const words& p, u64 i) {\n" + e.take() + "  return " + text +
             ";\n}\n");
    };
    function("bool", "present_", [](const std::string&, const std::string& has) { return has; });
    const std::string as = c.what == aggregate_kind::quantile ? "double" : std::string(scalar_text(c.value->k));
    function("u64", "word_", [&](const std::string& v, const std::string& has) {
      return "(" + has + " ? u64(sort_key<" + as + ">((" + as + ")" + v + ")) : u64(0))";
    });
    if (c.what == aggregate_kind::quantile)
      function("double", "number_", [](const std::string& v, const std::string&) { return "(double)" + v; });
    each_row("value_words_" + j, "    " + arg(numbers, "u64*") + "[at] = word_" + j + "(p, at);\n");
    each_row("group_words_" + j, "    const u64 i = " + arg(row_order, "const u64*") + "[at];\n    " + arg(numbers, "u64*") +
                                     "[at] = u64(" + group() + ") << 1 | (present_" + j + "(p, i) ? 0 : 1);\n");
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
    k_.add("__device__ __forceinline__ void emit_group(const words& p, u32 group, const aggregates::State& s) {\n  " + empty + first + "(" +
           result + ")[group] = finish_group(p, " + key + "s);\n}\n");
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

  generated& g_;
  kernel_source& k_;
  const planner::vertex& v_;
  const detail::logical& n_;
  const input_layout& in_;
  std::uint32_t site_;
};

class folding {
 public:
  folding(const planner::vertex& v, vertex_run& run, std::shared_ptr<const device_rows> in)
      : v_(v), run_(run), in_(std::move(in)), n_(in_->size()) {
    writer(g_, v, in_->layout()).write();
    args_.assign(of_calls + 2 * g_.plan.calls.size(), 0);
  }

  result_rows go() {
    run_.reset_status();
    const std::uint64_t groups = keyed(v_) ? map() : 1;
    const ir::type* number = ir::describe<std::uint64_t>();
    // The rows by their groups.
    device_buffer order;
    if (keyed(v_)) {
      const device_buffer of = words("number_groups");
      order = rows_in_order(number, rows_by_number(), of, n_, run_);
    }
    sort_values();
    collect_lists();
    args_[row_order] = order.address();
    out_ = run_.allocate(std::max<std::uint64_t>(groups, 1) * device_layout(v_.node->row).size);
    args_[result_at] = out_.address();
    const device_buffer first_rows = run_.allocate(groups * 8);
    args_[firsts] = first_rows.address();
    fold();
    if (run_.read(nothing_word)) return aggregate_of_nothing(v_, run_);
    if (v_.ordered && keyed(v_)) out_ = rows_in_order(v_.node->row, std::move(out_), first_rows, groups, run_);
    result_rows result = run_.result(v_.node->row, std::move(out_), groups);
    for (auto& heap : lists_) result->keep_heap(std::move(heap));
    run_.reset_status();
    return result;
  }

 private:
  void launch(const std::string& entry, std::uint64_t work) {
    const std::array<const device_rows*, 1> inputs = {in_.get()};
    run_.launch(g_.source, *run_.compile(g_.source, entry.c_str()), {run_.blocks(work), 256, 0}, inputs, args_);
  }

  // A table that starts small, as keys may be few.
  std::uint64_t map() {
    if (n_ >= most_groups) throw resource_error("gpu: memory: " + v_.node->label + " of 2^32 rows and more in one piece");
    ids_ = run_.allocate(n_ * 4);
    args_[group_of] = ids_.address();
    args_[table_full] = run_.status_word(full_word);
    args_[id_count] = run_.status_word(ids_word);
    const std::uint32_t most = gpu::table_bits(n_);
    for (std::uint32_t now = std::min(most, first_bits);; now = now < most ? std::min(now + growth_bits, most) : now + 1) {
      if (now > most + spare_bits) throw resource_error("query: " + v_.node->label + ": the GPU's table of keys is full");
      run_.context().cancel.check();
      const std::uint64_t bytes = gpu::table_slots(now) * g_.slot_bytes;
      const device_buffer table = run_.allocate(bytes);
      run_.fill(table.address(), 0xff, bytes);
      args_[table_at] = table.address();
      args_[table_size] = now;
      launch("map_rows", n_);
      run_.finish(g_.source);
      if (!(run_.read(full_word) & 0xffffffffu)) return run_.read(ids_word);
      run_.fill(args_[table_full], 0, 8);
      run_.fill(args_[id_count], 0, 8);
    }
  }

  device_buffer rows_by_number() {
    device_buffer all = run_.allocate(n_ * 8);
    args_[numbered] = all.address();
    launch("number_rows", n_);
    return all;
  }
  // A number a row; functions that fail are told of here, where their place is known.
  device_buffer words(const std::string& entry) {
    device_buffer all = run_.allocate(n_ * 8);
    args_[numbers] = all.address();
    launch(entry, n_);
    run_.finish(g_.source);
    return all;
  }

  void sort_values() {
    const ir::type* number = ir::describe<std::uint64_t>();
    for (std::size_t j = 0; j < g_.plan.calls.size(); ++j) {
      if (!wants_sorted(g_.plan.calls[j])) continue;
      run_.context().cancel.check();
      device_buffer by_value;
      {
        const device_buffer of = words("value_words_" + std::to_string(j));
        by_value = rows_in_order(number, rows_by_number(), of, n_, run_);
      }
      if (keyed(v_) || g_.plan.calls[j].nullable) {
        args_[row_order] = by_value.address();
        const device_buffer of = words("group_words_" + std::to_string(j));
        by_value = rows_in_order(number, std::move(by_value), of, n_, run_);
      }
      args_[of_calls + 2 * j] = by_value.address();
      orders_.push_back(std::move(by_value));
    }
  }
  void collect_lists() {
    for (std::size_t j = 0; j < g_.plan.calls.size(); ++j) {
      const aggregate_call& c = g_.plan.calls[j];
      if (c.what != aggregate_kind::collect) continue;
      auto heap = std::make_shared<const device_buffer>(run_.allocate(n_ * device_layout(c.source->type->element).size));
      args_[of_calls + 2 * j + 1] = heap->address();
      lists_.push_back(std::move(heap));
    }
  }

  void fold() {
    struct level {
      device_buffer marks, states;
    } in, to;
    const auto make_room = [&](std::uint64_t items_before) {
      const std::uint64_t states = gpu::segment_states(items_before);
      to.marks = run_.allocate(states * 8);
      to.states = run_.allocate(states * g_.aggregates.state_bytes);
      args_[marks_out] = to.marks.address();
      args_[states_out] = to.states.address();
    };
    const std::uint64_t rows = in_tiles(v_, g_.plan) ? gpu::divide_up(n_, tile_rows) * tile_rows : n_;
    args_[items] = rows;
    args_[nothing] = run_.status_word(nothing_word);
    make_room(rows);
    launch("fold_segments", gpu::segment_pieces(rows));
    for (std::uint64_t n = rows; gpu::segment_pieces(n) > 1;) {
      n = gpu::segment_states(n);
      in = std::move(to);
      args_[marks_in] = in.marks.address();
      args_[states_in] = in.states.address();
      args_[items] = n;
      make_room(n);
      launch("fold_level", gpu::segment_pieces(n));
    }
    run_.finish(g_.source);
  }

  const planner::vertex& v_;
  vertex_run& run_;
  std::shared_ptr<const device_rows> in_;
  std::uint64_t n_;
  generated g_;
  std::vector<std::uint64_t> args_;
  device_buffer ids_, out_;
  std::vector<device_buffer> orders_;
  std::vector<std::shared_ptr<const device_buffer>> lists_;
};

}  // namespace

bool wants_groups_in_order(const planner::vertex& v) {
  kernel_source k;
  const ir::group_plan plan = plan_of(k, v);
  return std::any_of(plan.calls.begin(), plan.calls.end(), wants_rows_by_group);
}

void plan_groups_in_order(const planner::vertex& v) {
  const planner::branch& b = v.inputs.front();
  const bool as_they_lie = bare(b) || !wants_groups_in_order(v);
  if (!as_they_lie) plan_collect_before(b);
  generated g;
  writer(g, v, as_they_lie ? planned_layout(b, group_fields(v)) : whole_rows(b.row)).write();
}

std::shared_ptr<const device_rows> rows_before_groups(const planner::vertex& v, vertex_run& run) {
  const planner::branch& b = v.inputs.front();
  return bare(b) ? run.input(b, group_fields(v)) : run_collect_before(b, run);
}

result_rows run_groups_in_order(const planner::vertex& v, std::shared_ptr<const device_rows> in, vertex_run& run) {
  return folding(v, run, std::move(in)).go();
}

}  // namespace query::gpu_engine
