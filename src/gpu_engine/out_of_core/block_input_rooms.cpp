// A block_input where device memory is short: rooms of its own for short blocks, and waits for memory that others have.
#include <algorithm>

#include "gpu_engine/backoff.hpp"
#include "gpu_engine/out_of_core/block_input.hpp"

namespace query::gpu_engine {

using planner::stage;

namespace {

// Seconds, for memory that others have, before rows are lost that cannot be had again: for a block, and for all of them.
constexpr double longest_wait = 2, longest_wait_in_all = 30;

// Of a session's memory for each of two rooms, if that is enough for a row. What is beside the rows there: passes of sorts, lists of tiles.
constexpr std::size_t rooms_of_budget = 8, beside_rows_at_work = std::size_t{64} << 10;

}  // namespace

// Waits for the next block, for which the consumer makes room where there is none.
device_block block_input::next(block_feed& blocks, block_consumer& consumer) {
  for (;;) {
    try {
      return blocks.next();
    } catch (const out_of_memory&) {
      run_.context().cancel.check();
      consumer.release();
      if (!more_room(consumer, &blocks, 1)) throw;  // cut by blocks.next() as far as it may be
    }
  }
}

// Before the first rows are taken: without them all rows are for others. Two blocks are on the device at once.
void block_input::hold_rooms(const block_consumer& consumer) {
  const auto arriving = [this](std::size_t rows) {
    std::size_t all = 0;
    for (const input_column& c : columns_) all += reserved_room::bytes_of(rows * device_layout(c.type).size);
    return std::max<std::size_t>(2 * all, 256);
  };
  const auto at_work = [&](std::size_t rows) {
    std::size_t all = beside_rows_at_work + consumer.bytes_at_work(rows);
    for (const stage* s : joins()) all += rows * (device_layout(s->join->row).size + 48);
    return all;
  };
  const auto room = [this](const auto& bytes) {
    return std::max(std::min(bytes(fewest_rows_of_block), budget_ / rooms_of_budget), bytes(1));
  };
  arriving_.emplace(run_.gpu().memory(), room(arriving), run_.on());
  at_work_.emplace(run_.gpu().memory(), room(at_work), run_.on());
}

void block_input::work_in_rooms(block_feed& blocks, bool there) {
  in_rooms_ = there;
  blocks.bring_to(there ? &*arriving_ : nullptr);
}

// What the shortest block lacked memory for may be tried again: the consumer has given some back; or, where rows that were taken are gone
// from the host, in the rooms; or others had time to give back theirs.
bool block_input::more_room(block_consumer& consumer, block_feed* blocks, std::size_t rows) {
  run_.reset_status();
  if (consumer.make_room()) return true;
  if (!once_ || gone_ == 0) return false;
  if (!in_rooms_ && at_work_ && blocks) {
    work_in_rooms(*blocks, true);
    return true;
  }
  return wait_for_memory(rows);
}

// A block that will be cut waits as long as its first row does once more.
bool block_input::wait_for_memory(std::size_t rows) {
  if (waited_ >= (rows == 1 ? 2 : 1) * longest_wait || waited_in_all_ >= longest_wait_in_all) return false;
  backoff b;
  while (b.seconds() < longest_wait / 20) {
    run_.context().cancel.check();
    b.pause();
  }
  const double seconds = b.seconds();
  waited_ += seconds;
  waited_in_all_ += seconds;
  run_.context().pieces->waited += static_cast<std::uint64_t>(seconds * 1000);
  return true;
}

}  // namespace query::gpu_engine
