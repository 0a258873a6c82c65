// Groups whose rows lie side by side in their order, for aggregates that a table of states cannot hold: count_distinct, quantiles,
// lists, and the user's own; and aggregates of all rows, one group without a key.
//
// A table maps keys to numbers of groups; row numbers are sorted by them, stable; runs of equal groups are folded
// (gpu_primitives/segments.cuh). Aggregates of sorted values have an order of rows of their own: by group, then by value, nulls last.
// Values that are no numbers are given some first, by a table of their own.
#include <algorithm>

#include <query/errors.hpp>

#include "gpu_engine/host_unpacking.hpp"
#include "gpu_engine/operators/aggregate_blocks.hpp"
#include "gpu_engine/operators/in_order_kernels.hpp"
#include "gpu_engine/operators/join_kernels.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_engine/operators/segment_levels.hpp"
#include "gpu_primitives/hash_table.cuh"

namespace query::gpu_engine {

using ir::aggregate_call;
using ir::aggregate_kind;

namespace {

using namespace in_order;

enum status : std::size_t { full_word = 1, ids_word, nothing_word };

constexpr std::uint32_t first_bits = 20, growth_bits = 4, spare_bits = 3;

class folding {
 public:
  folding(const planner::vertex& v, vertex_run& run, std::shared_ptr<const device_rows> in, output what = output::rows)
      : v_(v), run_(run), in_(std::move(in)), n_(in_->size()), g_(in_order::generate(v, in_->layout(), what)) {
    args_.assign(of_calls + 2 * g_.plan.calls.size(), 0);
  }

  result_rows go() {
    run_.reset_status();
    std::uint64_t groups = 1;
    if (keyed(v_)) {
      ids_ = run_.allocate(n_ * 4);
      args_[group_of] = ids_.address();
      groups = map("map_rows", g_.slot_bytes);
    }
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

  // Of blocks: their one state, into that of those before.
  std::size_t state_bytes() const { return g_.aggregates.state_bytes; }
  struct blocks {
    device_address state = 0, all = 0, rows = 0, begun = 0;
    std::uint64_t before = 0;  // rows
  };
  void take_block(const blocks& b) {
    run_.reset_status();
    set(b, b.state);
    fold();
    launch("take_block", 1);
    run_.finish(g_.source);
  }
  // They take memory then, and later there may be none.
  void load_all_kernels() {
    for (const char* entry : {"fold_segments", "fold_level", "take_block", "finish_blocks"}) (void)run_.compile(g_.source, entry);
  }
  // The row of all blocks; null: no row has stayed.
  result_rows finish_blocks(const blocks& b, device_buffer row) {
    run_.reset_status();
    out_ = std::move(row);
    set(b, out_.address());
    launch("finish_blocks", 1);
    run_.finish(g_.source);
    if (run_.read(nothing_word)) return nullptr;
    return run_.result(v_.node->row, std::move(out_), 1);
  }

 private:
  void set(const blocks& b, device_address result) {
    args_[result_at] = result;
    args_[state_of_all] = b.all;
    args_[kept_rows] = b.rows;
    args_[begun] = b.begun;
    args_[rows_before] = b.before;
    args_[nothing] = run_.status_word(nothing_word);
  }
  void launch(const std::string& entry, std::uint64_t work) {
    const std::array<const device_rows*, 1> inputs = {in_.get()};
    run_.launch(g_.source, *run_.compile(g_.source, entry.c_str()), {run_.blocks(work), 256, 0}, inputs, args_);
  }

  // Numbers of keys, or of a call's values, by a table that starts small, as they may be few. How many there are.
  std::uint64_t map(const std::string& entry, std::size_t slot_bytes) {
    if (n_ >= most_groups) throw resource_error("gpu: memory: " + v_.node->label + " of 2^32 rows and more in one piece");
    args_[table_full] = run_.status_word(full_word);
    args_[id_count] = run_.status_word(ids_word);
    const std::uint32_t most = gpu::table_bits(n_);
    for (std::uint32_t now = std::min(most, first_bits);; now = now < most ? std::min(now + growth_bits, most) : now + 1) {
      if (now > most + spare_bits) throw resource_error("query: " + v_.node->label + ": the GPU's table of keys is full");
      run_.context().cancel.check();
      const std::uint64_t bytes = gpu::table_slots(now) * slot_bytes;
      const device_buffer table = run_.allocate(bytes);
      run_.fill(table.address(), 0xff, bytes);
      args_[table_at] = table.address();
      args_[table_size] = now;
      run_.fill(args_[table_full], 0, 8);
      run_.fill(args_[id_count], 0, 8);
      launch(entry, n_);
      run_.finish(g_.source);
      if (!(run_.read(full_word) & 0xffffffffu)) return run_.read(ids_word);
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
      if (wants_numbered(g_.plan.calls[j])) {
        value_numbers_.push_back(run_.allocate(n_ * 4));
        args_[of_calls + 2 * j + 1] = value_numbers_.back().address();
        (void)map("map_values_" + std::to_string(j), g_.value_slot_bytes[j]);
      }
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
    const std::uint64_t rows = in_tiles(v_, g_.plan) ? gpu::divide_up(n_, tile_rows) * tile_rows : n_;
    args_[nothing] = run_.status_word(nothing_word);
    const segment_levels levels(run_, rows, g_.aggregates.state_bytes);
    levels.fold(args_, [this](const char* entry, std::uint64_t work) { launch(entry, work); });
    run_.finish(g_.source);
  }

  const planner::vertex& v_;
  vertex_run& run_;
  std::shared_ptr<const device_rows> in_;
  std::uint64_t n_;
  kernels g_;
  std::vector<std::uint64_t> args_;
  device_buffer ids_, out_;
  std::vector<device_buffer> orders_, value_numbers_;
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
  (void)generate(v, as_they_lie ? planned_layout(b, group_fields(v)) : whole_rows(b.row), output::rows);
}

std::shared_ptr<const device_rows> rows_before_groups(const planner::vertex& v, vertex_run& run) {
  const planner::branch& b = v.inputs.front();
  return bare(b) ? run.input(b, group_fields(v)) : run_collect_before(b, run);
}

result_rows run_groups_in_order(const planner::vertex& v, std::shared_ptr<const device_rows> in, vertex_run& run) {
  return folding(v, run, std::move(in)).go();
}

std::string aggregate_blocks::why_not(const planner::vertex& v) {
  kernel_source k;
  const ir::group_plan plan = plan_of(k, v);
  bool owns = !same_on_device(v.node->row);
  for (const aggregate_call& c : plan.calls) {
    if (c.what != aggregate_kind::custom && !ir::fixed_state(c.what)) return "wants rows side by side, which do not fit the device";
    owns = owns || (c.what == aggregate_kind::custom && !same_on_device(c.seed->type)) ||
           (names_row(c) && !same_on_device(v.inputs.front().row)) || views_texts(c);
  }
  return owns ? "keeps rows that own memory" : "";
}

std::size_t aggregate_blocks::bytes_at_work(const planner::vertex& v, std::size_t rows) {
  kernel_source k;
  const ir::group_plan plan = plan_of(k, v);
  const planner::branch& b = v.inputs.front();
  std::size_t a_state = 32 * (plan.calls.size() + 1);
  try {
    const bool as_they_lie = bare(b) || !wants_groups_in_order(v);
    a_state = in_order::generate(v, as_they_lie ? planned_layout(b, group_fields(v)) : whole_rows(b.row), output::state_of_block)
                  .aggregates.state_bytes;
  } catch (const not_generated&) {  // of rows that will lie otherwise: a guess will do
  }
  std::size_t all = 0;
  // As segment_levels has them.
  for (std::uint64_t n = in_tiles(v, plan) ? gpu::divide_up(rows, tile_rows) * tile_rows : rows;; n = gpu::segment_states(n)) {
    const std::uint64_t states = gpu::segment_states(n);
    all += reserved_room::bytes_of(states * 8) + reserved_room::bytes_of(states * a_state);
    if (gpu::segment_pieces(n) <= 1) return all;
  }
}

void aggregate_blocks::take(std::shared_ptr<const device_rows> in) {
  const std::uint64_t n = in->size();
  folding block(v_, run_, in, output::state_of_block);
  if (!none_) {
    kernel_source k;
    const std::size_t calls = std::max<std::size_t>(plan_of(k, v_).calls.size(), 1), row = device_layout(v_.inputs.front().row).size;
    const std::size_t state = (block.state_bytes() + 15) / 16 * 16;
    const std::size_t a_result = device_layout(v_.node->row).size, fields = std::max<std::size_t>(v_.node->row->field_list.size(), 1);
    device_buffer kept = run_.zeroed(16 + 2 * state + calls * row), result = run_.allocate(a_result);
    nothing_.emplace(run_.gpu().memory(), a_result + (fields + 1) * reserved_room::bytes_of(1), run_.on());
    block.load_all_kernels();
    const input_layout& layout = in->layout();
    auto none = std::make_shared<device_rows>(run_.shared_gpu(), layout.row, 0);
    for (const input_column& c : layout.columns) none->add(c, device_address{0});
    memory_ = std::move(kept);
    row_ = std::move(result);
    state_bytes_ = state;
    none_ = std::move(none);
  }
  if (!n) return;
  block.take_block({state(), state() + state_bytes_, state() + 2 * state_bytes_, memory_.address(), rows_});
  rows_ += n;
}

result_rows aggregate_blocks::finish() {
  result_rows row;
  if (none_)
    row = folding(v_, run_, none_, output::state_of_block)
              .finish_blocks({state(), state() + state_bytes_, state() + 2 * state_bytes_, memory_.address(), rows_}, std::move(row_));
  if (row) return row;
  const reserved_room::serving last_row(nothing_ ? &*nothing_ : nullptr);
  return aggregate_of_nothing(v_, run_);
}

}  // namespace query::gpu_engine
