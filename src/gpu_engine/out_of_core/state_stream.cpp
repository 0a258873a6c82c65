#include "gpu_engine/out_of_core/state_stream.hpp"

#include <algorithm>
#include <cstring>

#include <query/errors.hpp>

#include "gpu_engine/codegen/group_keys.hpp"
#include "gpu_engine/operators/aggregate_blocks.hpp"
#include "gpu_engine/operators/join_kernels.hpp"
#include "gpu_engine/operators/segment_levels.hpp"
#include "gpu_engine/out_of_core/spill_levels.hpp"
#include "gpu_engine/reserved_room.hpp"
#include "gpu_primitives/hash_table.cuh"

namespace query::gpu_engine {

using namespace in_order;

namespace {

// The fewest have room for the groups of the shortest block.
constexpr std::uint32_t first_table_bits = 16, fewest_table_bits = 11, most_table_bits = 32;
// As group_stream's table: the rest of a session's memory is for blocks and build sides.
constexpr std::size_t tables_of_budget = 6;
constexpr int calm_blocks = 8;              // until a table that was made smaller may grow again
// Sorting row numbers by those of groups (rows_in_order.cpp): 8 arrays of 64-bit numbers at most at a time; the group's number.
constexpr std::size_t bytes_of_order = 8 * 8 + 4;

std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

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
  return aligned(gpu::table_slots(bits) * k_->slot_bytes) + aligned(capacity(bits) * k_->key_bytes) +
         aligned(capacity(bits) * k_->aggregates.state_bytes);
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

void state_stream::hold_reserve() {
  if (reserve_.memory) return;
  const reserved_room::serving longer_than_a_block(nullptr);
  reserve r;
  const std::size_t row = device_layout(v_.node->row).size;
  r.bytes = bytes_of_reserve(run_.gpu().memory().budget(), k_->pair_bytes, row);
  r.pairs = r.bytes / k_->pair_bytes;
  const std::size_t table = table_bytes(fewest_table_bits), piece = aligned(r.bytes), words = aligned(r.pairs * 4);
  r.memory = run_.allocate(table + 2 * piece + 2 * words + 256);
  r.table = r.memory.address();
  r.leaving = r.table + table;
  r.arriving = r.leaving + piece;
  r.leaving_to = r.arriving + piece;
  r.numbers = r.leaving_to + words;
  count_ = r.numbers + words;
  // Kernels take memory when they are loaded.
  for (const char* entry : {"map_rows", "map_pairs", "number_rows", "number_groups", "grow_ids_of_groups", "fold_segments", "fold_level",
                            "spill_states", "meet_pairs", "finish_states"})
    (void)run_.compile(k_->source, entry);
  reserve_ = std::move(r);
  args_[spill_seed] = seed_of_level(0);
}

void state_stream::use_table() {
  args_[table_at] = table_.slots;
  args_[table_size] = table_.bits;
  args_[group_keys] = table_.keys;
  args_[group_states] = table_.states;
  args_[most_ids] = capacity(table_.bits);
  args_[id_count] = count_;
}

state_stream::group_memory state_stream::placed(std::uint32_t bits, device_address at) const {
  group_memory m;
  m.bits = bits;
  m.slots = at;
  m.keys = m.slots + aligned(gpu::table_slots(bits) * k_->slot_bytes);
  m.states = m.keys + aligned(capacity(bits) * k_->key_bytes);
  return m;
}

state_stream::group_memory state_stream::allocated(std::uint32_t bits) {
  const reserved_room::serving longer_than_a_block(nullptr);
  device_buffer memory = run_.allocate(table_bytes(bits));
  group_memory m = placed(bits, memory.address());
  m.memory = std::move(memory);
  return m;
}

void state_stream::start_table(std::uint32_t bits) {
  hold_reserve();
  table_ = {};
  try {
    table_ = allocated(bits);
  } catch (const out_of_memory&) {
    run_.context().cancel.check();
    table_ = placed(fewest_table_bits, reserve_.table);
  }
  use_table();
  clear_table();
}

void state_stream::start_table() {
  std::uint32_t bits = first_table_bits;
  while (bits > fewest_table_bits && table_bytes(bits) > most_bytes_) --bits;
  start_table(bits);
}

bool state_stream::make_room() {
  calm_ = 0;
  if (!table_.memory) return false;
  spill();
  const std::uint32_t before = table_.bits;
  most_bytes_ = table_bytes(before > fewest_table_bits + 1 ? before - 2 : fewest_table_bits);
  if (before > fewest_table_bits + 1) {
    start_table(before - 2);
  } else {
    table_ = placed(fewest_table_bits, reserve_.table);
    use_table();
    clear_table();
  }
  return true;
}

// States of ones are none.
void state_stream::clear_table() {
  run_.fill(table_.slots, 0xff, gpu::table_slots(table_.bits) * k_->slot_bytes);
  run_.fill(table_.states, 0xff, capacity(table_.bits) * k_->aggregates.state_bytes);
  run_.fill(count_, 0, 8);
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
    run_.copy(run_.status_word(ids_word), count_, 8);
    run_.finish(k_->source);
    ids_ = std::min(run_.read(ids_word), capacity(table_.bits));
    if (!(run_.read(full_word) & 0xffffffffu)) return true;
    if (!grow()) return false;
  }
}

// False, with nothing changed, if a larger table is not to be had. Keys keep their numbers.
bool state_stream::grow() {
  std::uint32_t bits = table_.bits + 2;
  if (bits > most_table_bits || table_bytes(bits) > most_bytes_) --bits;
  if (bits > most_table_bits || table_bytes(bits) > most_bytes_) return false;
  group_memory larger;
  try {
    larger = allocated(bits);
  } catch (const out_of_memory&) {
    return false;
  }
  const std::size_t kept = ids_ * k_->aggregates.state_bytes;
  run_.fill(larger.slots, 0xff, gpu::table_slots(larger.bits) * k_->slot_bytes);
  run_.copy(larger.keys, table_.keys, ids_ * k_->key_bytes);
  run_.copy(larger.states, table_.states, kept);
  run_.fill(larger.states + kept, 0xff, capacity(larger.bits) * k_->aggregates.state_bytes - kept);
  args_[larger_table] = larger.slots;
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
  prepare(block->layout());
  // Whatever happens, the block's memory is not held longer.
  const struct reading {
    reading(state_stream& g, const std::shared_ptr<const device_rows>& rows) : of(g) { of.in_ = rows; }
    ~reading() { of.in_ = of.no_rows_; }
    state_stream& of;
  } now(*this, block);
  run_.reset_status();
  if (!table_.bits) start_table();
  if (!n) return;
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
  if (++calm_ < calm_blocks) return;
  calm_ = 0;
  most_bytes_ = std::min(2 * most_bytes_, run_.gpu().memory().budget() / tables_of_budget);
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

// All states go to host memory; the table is empty then. Never fails for a lack of device memory.
void state_stream::spill() {
  if (!folded_) return clear_table();
  if (!*spilled_to_) spilled_to_->emplace(k_->pair_bytes, state_parts, run_.context());
  std::uint64_t step = std::max<std::uint64_t>(ids_, 1);  // all at once, if there is room
  device_buffer out, place;
  while (!place && step > reserve_.pairs) {
    try {
      out = run_.allocate(step * k_->pair_bytes);
      place = run_.allocate(step * 4);
    } catch (const out_of_memory&) {
      run_.context().cancel.check();
      out.reset();
      step /= 4;
    }
  }
  if (!place) step = std::min(std::max<std::uint64_t>(ids_, 1), reserve_.pairs);
  // In host memory they stay together: the fewer pieces a part has, the fewer launches at the end.
  const runtime::run_context& c = run_.context();
  const runtime::buffer rows = run_.context().pool.allocate(std::max<std::uint64_t>(ids_, 1) * k_->pair_bytes),
                        of = run_.context().pool.allocate(std::max<std::uint64_t>(ids_, 1) * 4);
  args_[pairs] = place ? out.address() : reserve_.leaving;
  args_[places] = place ? place.address() : reserve_.leaving_to;
  for (std::uint64_t first = 0; first < ids_; first += step) {
    const std::uint64_t n = std::min(step, ids_ - first);
    args_[first_pair] = first;
    args_[items] = n;
    launch("spill_states", n);
    run_.gpu().copies().download_plain(rows.as<std::byte>() + first * k_->pair_bytes, args_[pairs], n * k_->pair_bytes, run_.on(),
                                       c.scheduler, c.cancel);
    run_.gpu().copies().download_plain(of.as<std::uint32_t>() + first, args_[places], n * 4, run_.on(), c.scheduler, c.cancel);
  }
  (*spilled_to_)->append(rows.data(), of.as<std::uint32_t>(), ids_);
  ++run_.context().pieces->spills;
  clear_table();
}

// The spilled states of some parts, in the order of the spills: long pieces as they lie, short ones copied side by side, as each upload is
// followed by a wait.
void state_stream::meet_rows(const std::vector<host_partitions::piece>& pieces, std::uint64_t all) {
  constexpr std::size_t short_bytes = std::size_t{1} << 20;
  const std::uint64_t wanted = std::min({all, most_pairs(), capacity(table_.bits)});
  std::uint64_t most = wanted;
  device_buffer memory, numbers;
  while (!numbers && most > reserve_.pairs) {
    try {
      memory = run_.allocate(most * k_->pair_bytes);
      numbers = run_.allocate(most * 4);
    } catch (const out_of_memory&) {
      run_.context().cancel.check();
      memory.reset();
      most /= 4;
    }
  }
  if (!numbers) most = std::min(wanted, reserve_.pairs);
  const device_address at = numbers ? memory.address() : reserve_.arriving, ids = numbers ? numbers.address() : reserve_.numbers;
  const std::uint64_t some = std::min(most, std::max<std::uint64_t>(short_bytes / k_->pair_bytes, 1));  // side by side
  const runtime::buffer rows = run_.context().pool.allocate(some * k_->pair_bytes);
  std::vector<std::uint64_t> starts = {0};  // of what is of one spill, and the end
  const auto meet = [&] {
    if (starts.back()) meet_pairs(rows.data(), starts, at, ids);
    starts = {0};
  };
  for (const host_partitions::piece& piece : pieces)
    for (std::uint64_t first = 0; first < piece.n;) {
      const auto* const from = static_cast<const std::byte*>(piece.rows) + first * k_->pair_bytes;
      std::uint64_t n = piece.n - first;
      if (n >= some) {
        meet();  // those before it
        n = std::min(n, most);
        meet_pairs(from, {0, n}, at, ids);
      } else {
        n = std::min(n, some - starts.back());
        std::memcpy(rows.as<std::byte>() + starts.back() * k_->pair_bytes, from, n * k_->pair_bytes);
        starts.push_back(starts.back() + n);
        if (starts.back() == some) meet();
      }
      first += n;
    }
  meet();
}

// No more than an empty table has room for. Those before them are spilled if they are in the way. A spill has each key once: one thread a
// key and launch.
void state_stream::meet_pairs(const void* rows, const std::vector<std::uint64_t>& starts, device_address at, device_address ids) {
  const runtime::run_context& c = run_.context();
  const std::uint64_t n = starts.back();
  run_.gpu().copies().upload_plain(at, rows, n * k_->pair_bytes, run_.on(), c.scheduler, c.cancel);
  const auto range = [&](std::uint64_t first, std::uint64_t end) {
    args_[pairs] = at + first * k_->pair_bytes;
    args_[group_of] = ids + first * 4;
    args_[items] = end - first;
  };
  const auto mapped = [&] {
    range(0, n);
    return map("map_pairs", n);
  };
  if (!mapped()) {
    spill();
    if (!mapped()) throw resource_error("query: group_by: the groups of one partition do not fit the GPU's memory");
  }
  for (std::size_t spill = 0; spill + 1 < starts.size(); ++spill) {
    range(starts[spill], starts[spill + 1]);
    launch("meet_pairs", args_[items]);  // what fails there is told of by the next work's end
  }
  folded_ = true;
}

// The groups of each part, which has all pairs of its keys, of small parts as many at once as the table has room for. `level`: that of the
// parts of these parts.
void state_stream::meet_parts(const host_partitions& parts, std::uint32_t level, std::vector<detail::table>& tables) {
  spill_level here(level, spilled_to_, args_[spill_seed]);
  if (!table_.bits) start_table();
  for (std::uint32_t part = 0, end = 0; part < state_parts; part = end) {
    end = parts.end_of(part, here.together(capacity(table_.bits)));
    const std::uint64_t states = parts.size(part, end);
    if (!states) continue;
    run_.context().cancel.check();
    std::optional<host_partitions> smaller;
    here.spill_to(smaller);
    clear_table();
    meet_rows(parts.rows_of(part, end), states);
    if (!smaller) {
      tables.push_back(groups_on_host());
      continue;
    }
    spill();
    meet_parts(*smaller, level + 1, tables);
  }
}

void state_stream::finish_groups(std::uint64_t first, std::uint64_t n, device_address to) {
  args_[group_keys] = table_.keys + first * k_->key_bytes;
  args_[group_states] = table_.states + first * k_->aggregates.state_bytes;
  args_[result_at] = to;
  args_[items] = n;
  launch("finish_states", n);
  run_.finish(k_->source);
  use_table();
}

// As rows.
std::shared_ptr<device_rows> state_stream::groups() {
  device_buffer rows = run_.allocate(std::max<std::uint64_t>(ids_, 1) * device_layout(v_.node->row).size);
  finish_groups(0, ids_, rows.address());
  return run_.result(v_.node->row, std::move(rows), ids_);
}

// In pieces, where there is no memory for all of them.
detail::table state_stream::groups_on_host() {
  const ir::type* row = v_.node->row;
  const std::uint64_t some = reserve_.bytes / row->size;
  if (ids_ > some) {
    try {
      return groups()->fetch(run_.context());
    } catch (const out_of_memory&) {
      run_.context().cancel.check();
    }
  }
  const runtime::run_context& c = run_.context();
  auto memory = std::make_shared<runtime::buffer>(
      run_.context().pool.allocate(runtime::buffer_pool::checked_bytes(std::max<std::uint64_t>(ids_, 1), row->size)));
  for (std::uint64_t first = 0; first < ids_; first += some) {
    const std::uint64_t n = std::min(some, ids_ - first);
    finish_groups(first, n, reserve_.leaving);
    run_.gpu().copies().download_plain(memory->as<std::byte>() + first * row->size, reserve_.leaving, n * row->size, run_.on(), c.scheduler,
                                       c.cancel);
  }
  detail::table t;
  t.type = row;
  t.n = ids_;
  t.rows = memory->data();
  t.owner = std::move(memory);
  return t;
}

block_results state_stream::finish() {
  block_results all;
  if (!table_.bits && !spilled_) {
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
    all.tables.push_back(groups_on_host());
    return all;
  }
  spill();
  meet_parts(*spilled_, 1, all.tables);
  return all;
}

}  // namespace query::gpu_engine
