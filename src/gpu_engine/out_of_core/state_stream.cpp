#include "gpu_engine/out_of_core/state_stream.hpp"

#include <algorithm>

#include <query/errors.hpp>

#include "gpu_engine/codegen/group_keys.hpp"
#include "gpu_engine/operators/aggregate_blocks.hpp"
#include "gpu_engine/operators/join_kernels.hpp"
#include "gpu_engine/operators/segment_levels.hpp"
#include "gpu_primitives/hash_table.cuh"

namespace query::gpu_engine {

using namespace in_order;

namespace {

constexpr std::uint32_t first_table_bits = 16, fewest_table_bits = 10, most_table_bits = 32;
// As group_stream's table: the rest of a session's memory is for blocks and build sides.
constexpr std::size_t tables_of_budget = 6;
constexpr std::uint64_t fewest_pairs = 4096;  // that are spilled at once
// Sorting row numbers by those of groups (rows_in_order.cpp): 8 arrays of 64-bit numbers at most at a time; the group's number.
constexpr std::size_t bytes_of_order = 8 * 8 + 4;

}  // namespace

bool state_stream::possible(const planner::vertex& v) {
  if (!wants_groups_in_order(v) || v.node->keys.equal || !aggregate_blocks::why_not(v).empty()) return false;
  kernel_source k;
  const ir::group_plan plan = plan_of(k, v);
  return std::none_of(plan.calls.begin(), plan.calls.end(), names_row) && generate_group_key(k, v.node->key).bytes != 0;
}

std::size_t state_stream::bytes_beside(const planner::vertex& v) {
  const planner::branch& b = v.inputs.front();
  const input_layout in = bare(b) ? planned_layout(b, group_fields(v)) : whole_rows(b.row);
  const std::size_t a_state = generate(v, in, output::states_of_block).aggregates.state_bytes + 8;  // and its mark
  return bytes_of_order + a_state * 2 / (gpu::segment_piece - 2) + (bare(b) ? 0 : device_layout(b.row).size);
}

state_stream::state_stream(const planner::vertex& v, vertex_run& run)
    : v_(v), run_(run), most_bytes_(run.gpu().memory().budget() / tables_of_budget) {}

std::size_t state_stream::table_bytes(std::uint32_t bits) const {
  return gpu::table_slots(bits) * k_->slot_bytes + capacity(bits) * (k_->key_bytes + k_->aggregates.state_bytes);
}

void state_stream::launch(const char* entry, std::uint64_t work) {
  const std::array<const device_rows*, 1> inputs = {in_.get()};
  run_.launch(k_->source, *run_.compile(k_->source, entry), {run_.blocks(work), 256, 0}, inputs, args_);
}

void state_stream::prepare(const input_layout& in) {
  if (k_ && same_columns(no_rows_->layout(), in)) return;
  k_.emplace(generate(v_, in, output::states_of_block));
  args_.resize(of_calls + 2 * k_->plan.calls.size());
  auto none = std::make_shared<device_rows>(run_.shared_gpu(), in.row, 0);
  for (const input_column& c : in.columns) none->add(c, device_address{0});
  no_rows_ = std::move(none);
}

void state_stream::use_table() {
  args_[table_at] = table_.slots.address();
  args_[table_size] = table_.bits;
  args_[group_keys] = table_.keys.address();
  args_[group_states] = table_.states.address();
  args_[most_ids] = capacity(table_.bits);
  args_[id_count] = count_.address();
}

void state_stream::start_table() {
  group_memory made;
  for (made.bits = first_table_bits; made.bits > fewest_table_bits && table_bytes(made.bits) > most_bytes_;) --made.bits;
  made.slots = run_.allocate(gpu::table_slots(made.bits) * k_->slot_bytes);
  made.keys = run_.allocate(capacity(made.bits) * k_->key_bytes);
  made.states = run_.allocate(capacity(made.bits) * k_->aggregates.state_bytes);
  count_ = run_.allocate(8);
  table_ = std::move(made);
  use_table();
  clear_table();
}

// States of ones are none.
void state_stream::clear_table() {
  run_.fill(table_.slots.address(), 0xff, gpu::table_slots(table_.bits) * k_->slot_bytes);
  run_.fill(table_.states.address(), 0xff, capacity(table_.bits) * k_->aggregates.state_bytes);
  run_.fill(count_.address(), 0, 8);
  ids_ = 0;
  folded_ = false;
}

// Numbers of groups for all rows, new ones for keys that were not there. False: there is no room for them, and none to be had.
bool state_stream::map(const char* entry, std::uint64_t rows) {
  args_[table_full] = run_.status_word(full_word);
  for (;;) {
    run_.context().cancel.check();
    run_.fill(args_[table_full], 0, 8);
    launch(entry, rows);
    run_.copy(run_.status_word(ids_word), count_.address(), 8);
    run_.finish(k_->source);
    ids_ = std::min(run_.read(ids_word), capacity(table_.bits));
    if (!(run_.read(full_word) & 0xffffffffu)) return true;
    if (!grow()) return false;
  }
}

// False, with nothing changed, if a larger table is not to be had. Keys keep their numbers.
bool state_stream::grow() {
  group_memory larger;
  larger.bits = table_.bits + 2;
  if (larger.bits > most_table_bits || table_bytes(larger.bits) > most_bytes_) --larger.bits;
  if (larger.bits > most_table_bits || table_bytes(larger.bits) > most_bytes_) return false;
  try {
    larger.slots = run_.allocate(gpu::table_slots(larger.bits) * k_->slot_bytes);
    larger.keys = run_.allocate(capacity(larger.bits) * k_->key_bytes);
    larger.states = run_.allocate(capacity(larger.bits) * k_->aggregates.state_bytes);
  } catch (const out_of_memory&) {
    return false;
  }
  const std::size_t kept = ids_ * k_->aggregates.state_bytes;
  run_.fill(larger.slots.address(), 0xff, gpu::table_slots(larger.bits) * k_->slot_bytes);
  run_.copy(larger.keys.address(), table_.keys.address(), ids_ * k_->key_bytes);
  run_.copy(larger.states.address(), table_.states.address(), kept);
  run_.fill(larger.states.address() + kept, 0xff, capacity(larger.bits) * k_->aggregates.state_bytes - kept);
  args_[larger_table] = larger.slots.address();
  args_[larger_size] = larger.bits;
  args_[ids_given] = ids_;
  run_.fill(args_[table_full], 0, 8);
  launch("grow_ids_of_groups", gpu::table_slots(table_.bits));
  run_.finish(k_->source);
  if (run_.read(full_word) & 0xffffffffu) return false;  // hashes crowd
  table_ = std::move(larger);
  use_table();
  return true;
}

void state_stream::take(const std::shared_ptr<const device_rows>& block) {
  const std::uint64_t n = block->size();
  if (!n) return;
  prepare(block->layout());
  // Whatever happens, the block's memory is not held longer.
  const struct reading {
    reading(state_stream& g, const std::shared_ptr<const device_rows>& rows) : of(g) { of.in_ = rows; }
    ~reading() { of.in_ = of.no_rows_; }
    state_stream& of;
  } now(*this, block);
  run_.reset_status();
  if (!table_.slots) start_table();
  const device_buffer ids = run_.allocate(n * 4);
  args_[group_of] = ids.address();
  if (!map("map_rows", n)) {
    if (folded_) spill();
    else clear_table();  // of numbers that were refused
    if (!map("map_rows", n)) {
      clear_table();
      throw out_of_memory("gpu: memory: the groups of a block do not fit the device");
    }
  }
  fold(n);
}

// Of rows whose groups have their numbers.
void state_stream::fold(std::uint64_t n) {
  args_[rows_before] = rows_;
  device_buffer order = run_.allocate(n * 8);
  {
    const device_buffer of = run_.allocate(n * 8);
    args_[numbered] = order.address();
    args_[numbers] = of.address();
    launch("number_rows", n);
    launch("number_groups", n);
    order = rows_in_order(ir::describe<std::uint64_t>(), std::move(order), of, n, run_);
  }
  args_[row_order] = order.address();
  const segment_levels levels(run_, n, k_->aggregates.state_bytes);
  // From the first launch on rows are in the states: a lack of memory can no longer be answered with less of them.
  try {
    levels.fold(args_, [this](const char* entry, std::uint64_t work) { launch(entry, work); });
    run_.finish(k_->source);
  } catch (const out_of_memory& e) {
    throw resource_error(e.what());
  }
  folded_ = true;
  rows_ += n;
}

// All states go to host memory; the table is empty then.
void state_stream::spill() {
  if (!folded_) return clear_table();
  if (!spilled_) spilled_.emplace(k_->pair_bytes, state_parts, run_.context());
  std::uint64_t step = std::max<std::uint64_t>(ids_, 1);  // all at once: the fewer pieces a part has, the fewer launches at the end
  device_buffer out, place;
  while (!place) {
    try {
      out = run_.allocate(step * k_->pair_bytes);
      place = run_.allocate(step * 4);
    } catch (const out_of_memory&) {
      out.reset();
      if (step <= fewest_pairs) throw;
      step /= 4;
    }
  }
  const runtime::run_context& c = run_.context();
  const runtime::buffer rows = run_.context().pool.allocate(step * k_->pair_bytes), of = run_.context().pool.allocate(step * 4);
  args_[pairs] = out.address();
  args_[places] = place.address();
  for (std::uint64_t first = 0; first < ids_; first += step) {
    const std::uint64_t n = std::min(step, ids_ - first);
    args_[first_pair] = first;
    args_[items] = n;
    try {
      launch("spill_states", n);
      run_.gpu().copies().download_plain(rows.data(), out.address(), n * k_->pair_bytes, run_.on(), c.scheduler, c.cancel);
      run_.gpu().copies().download_plain(of.data(), place.address(), n * 4, run_.on(), c.scheduler, c.cancel);
    } catch (const out_of_memory& e) {  // some are in host memory: they would go there once more
      throw resource_error(e.what());
    }
    spilled_->append(rows.data(), of.as<std::uint32_t>(), n);
  }
  ++run_.context().pieces->spills;
  clear_table();
}

// The spilled states of one part, spill by spill, into an empty table: a piece has each key once.
void state_stream::meet_part(std::uint32_t part) {
  clear_table();
  const std::uint64_t most = most_pairs();
  for (const host_partitions::piece& piece : spilled_->rows_of(part)) {
    for (std::size_t first = 0; first < piece.n; first += most) {
      const std::uint64_t n = std::min<std::uint64_t>(most, piece.n - first);
      const device_buffer in = run_.allocate(n * k_->pair_bytes), ids = run_.allocate(n * 4);
      const runtime::run_context& c = run_.context();
      run_.gpu().copies().upload_plain(in.address(), static_cast<const std::byte*>(piece.rows) + first * k_->pair_bytes,
                                       n * k_->pair_bytes, run_.on(), c.scheduler, c.cancel);
      args_[pairs] = in.address();
      args_[group_of] = ids.address();
      args_[items] = n;
      if (!map("map_pairs", n)) throw resource_error("query: group_by: the groups of one partition do not fit the GPU's memory");
      launch("meet_pairs", n);  // what fails there is told of by the next work's end
    }
  }
}

// As rows.
std::shared_ptr<device_rows> state_stream::groups() {
  device_buffer rows = run_.allocate(std::max<std::uint64_t>(ids_, 1) * device_layout(v_.node->row).size);
  args_[result_at] = rows.address();
  args_[items] = ids_;
  launch("finish_states", ids_);
  run_.finish(k_->source);
  return run_.result(v_.node->row, std::move(rows), ids_);
}

block_results state_stream::finish() {
  block_results all;
  if (!table_.slots) {
    all.kept = run_.result(v_.node->row, device_buffer(), 0);
    return all;
  }
  run_.reset_status();
  if (!spilled_) {
    try {
      all.kept = groups();
      return all;
    } catch (const out_of_memory&) {
      run_.context().cancel.check();
    }
  }
  spill();
  for (std::uint32_t part = 0; part < state_parts; ++part) {
    if (!spilled_->size(part)) continue;
    run_.context().cancel.check();
    meet_part(part);
    all.tables.push_back(groups()->fetch(run_.context()));
  }
  return all;
}

}  // namespace query::gpu_engine
