#include "gpu_engine/transfer.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <deque>
#include <exception>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include <query/errors.hpp>

#include "gpu_engine/backoff.hpp"
#include "gpu_engine/pinned_memory.hpp"

namespace query::gpu_engine {
namespace {

constexpr std::size_t kib = 1024;
constexpr std::size_t smallest_piece = 512 * kib;  // below, giving a copy to the device costs more than it gains
constexpr std::size_t smallest_task = 64 * kib;
constexpr std::size_t most_small_slots = 64;
// Threads that keep a bus of 55 GB/s busy, each of which copies 7 to 9 GB/s. More only wait for one another: 1 GiB took 20.6 ms by 8 and
// 24 ms by 32 threads beside an H200, and four times the CPU time. Those that pick fields read more than they send.
constexpr double threads_of_a_bus = 8;
constexpr std::size_t tasks_a_thread = 2;  // of a piece: threads that are a little late do not hold up its copy

// How a transfer is cut: into pieces, one copy of the device each, and these into tasks, one call of fill or take each.
struct cut {
  std::size_t bytes, piece, task;  // task divides into values; all but the last piece hold the same number of tasks
  std::size_t first_piece = 0, first_task = 0;  // among those of all parts that are transferred together

  // `total`: bytes of all parts.
  cut(std::size_t part, std::size_t total, std::size_t granule, const transfer::sizes& s, int threads) : bytes(part) {
    granule = std::max<std::size_t>(granule, 1);
    if (granule > s.piece)
      throw internal_error("gpu: transfer: a value is larger than a staging buffer: " + std::to_string(granule) + " bytes");
    // Whole words of a bitmap of the values, and 64-byte alignment, where that fits.
    const std::size_t unit = granule <= s.piece / 64 ? granule * 64 : granule;
    const auto slots = static_cast<std::size_t>(s.pieces);
    const std::size_t wanted = std::min(std::max(total / (2 * slots), smallest_piece), s.piece);
    const std::size_t share = std::max(wanted / (static_cast<std::size_t>(std::max(threads, 1)) * tasks_a_thread), smallest_task);
    task = std::max(std::min(share, wanted) / unit, std::size_t{1}) * unit;
    piece = std::max(wanted / task, std::size_t{1}) * task;
  }

  std::size_t tasks() const { return (bytes + task - 1) / task; }
  std::size_t tasks_a_piece() const { return piece / task; }
  std::size_t pieces() const { return (bytes + piece - 1) / piece; }
  std::size_t piece_of(std::size_t t) const { return t / tasks_a_piece(); }
  std::size_t piece_bytes(std::size_t p) const { return std::min(piece, bytes - p * piece); }
  std::size_t tasks_of(std::size_t p) const { return (piece_bytes(p) + task - 1) / task; }
  std::size_t task_bytes(std::size_t t) const { return std::min(task, bytes - t * task); }
  std::size_t in_piece(std::size_t t) const { return t * task - piece_of(t) * piece; }
};

// A part of an upload in staging buffers: each holds room for so many rows, a column behind the other.
struct columns_of_rows {
  const transfer::part* part;
  std::size_t row_bytes = 0;

  explicit columns_of_rows(const transfer::part& p) : part(&p) {
    for (const transfer::column& c : p.columns) row_bytes += c.size;
  }
  std::size_t bytes() const { return part->n * row_bytes; }
  std::size_t read() const { return part->n * std::max(part->read, row_bytes); }
  // Rows [first, first + n) into the places from `at` on of a buffer with room for `room` rows.
  void fill(std::byte* buffer, std::size_t room, std::size_t at, std::size_t first, std::size_t n) const {
    if (part->columns.size() == 1) {
      std::byte* const to = buffer + at * row_bytes;
      part->fill(first, n, &to);
      return;
    }
    std::vector<std::byte*> to;
    for (const transfer::column& c : part->columns) {
      to.push_back(buffer + at * c.size);
      buffer += room * c.size;
    }
    part->fill(first, n, to.data());
  }
  void send(staging_slot& slot, std::size_t room, std::size_t first, std::size_t n, const stream& s) const {
    std::vector<staging_slot::piece> pieces;
    std::size_t offset = 0;
    for (const transfer::column& c : part->columns) {
      pieces.push_back({c.to + first * c.size, offset, n * c.size});
      offset += room * c.size;
    }
    slot.send(pieces, s);
  }
};

// One transfer under way over the ring. Piece p uses slot p modulo the ring's size; its tasks are handed out in order, so
// whatever a task waits for is being worked on: by a task handed out before, or by the device. A task that fails leaves its
// exception for those that wait.
class pipeline {
 public:
  pipeline(const device& on, std::vector<staging_slot>& slots, std::size_t pieces, const runtime::cancel_flag& cancel)
      : on_(on), slots_(slots), cancel_(cancel), states_(slots.size()), finished_(pieces) {}

  staging_slot& slot(std::size_t p) { return slots_[p % slots_.size()]; }

  // Waits until piece p's slot has been given `copies` copies by this transfer and the device has done them. All who wait here
  // have tasks of this piece, so the slot is given no other copy meanwhile; one of them asks the driver for all, which lets one
  // thread in at a time.
  void wait_for(std::size_t p, std::size_t copies) {
    slot_state& s = states_[p % slots_.size()];
    for (backoff b; s.rounds.load(std::memory_order_acquire) <= copies; b.pause()) {
      if (s.given.load(std::memory_order_acquire) >= copies && !s.asked.test_and_set(std::memory_order_acquire)) {
        const bool idle = slot(p).idle();  // throws: then this transfer has failed, and nobody asks any more
        if (idle) s.rounds.store(copies + 1, std::memory_order_release);
        s.asked.clear(std::memory_order_release);
        if (idle) return;
      }
      if (failed_.load(std::memory_order_acquire)) std::rethrow_exception(error_);
      cancel_.check();
    }
  }
  std::size_t round(std::size_t p) const { return p / slots_.size(); }  // copies of the slot before piece p

  void copy_given(std::size_t p) { states_[p % slots_.size()].given.fetch_add(1, std::memory_order_release); }

  // Says that one of the piece's `tasks` tasks has ended; true for the last of them, which sees what the others wrote.
  bool last_of_piece(std::size_t p, std::size_t tasks) { return finished_[p].fetch_add(1, std::memory_order_acq_rel) + 1 == tasks; }

  // By `most` threads at once, or fewer.
  template <class Task>
  void run(runtime::scheduler& threads, std::size_t most, std::size_t tasks, Task task) {
    std::atomic<std::size_t> next{0};
    threads.for_each(
        std::min(most, tasks),
        [&](std::size_t) {
          try {
            const scoped_context here(on_);  // once for the calls below
            for (std::size_t t = next++; t < tasks; t = next++) {
              cancel_.check();
              task(t);
            }
          } catch (...) {
            fail();
            throw;
          }
        },
        cancel_);
  }

 private:
  struct slot_state {
    std::atomic<std::size_t> given{0};   // copies, to the device
    std::atomic<std::size_t> rounds{0};  // one more than the copies that are known to have ended; 0: one of before may use the slot
    std::atomic_flag asked;
  };

  void fail() {
    const std::lock_guard lock(mutex_);
    if (failed_.load(std::memory_order_relaxed)) return;
    error_ = std::current_exception();
    failed_.store(true, std::memory_order_release);
  }

  const device& on_;
  std::vector<staging_slot>& slots_;
  const runtime::cancel_flag& cancel_;
  std::vector<slot_state> states_;
  std::vector<std::atomic<std::size_t>> finished_;  // tasks, a piece
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
};

// The ring of one direction; transfers take turns.
struct ring {
  std::mutex turn;
  std::vector<staging_slot> slots;
};

// Waits for a turn, with a way out.
std::unique_lock<std::mutex> take_turn(ring& r, const runtime::cancel_flag& cancel) {
  std::unique_lock lock(r.turn, std::defer_lock);
  for (backoff b; !lock.try_lock(); b.pause()) cancel.check();
  return lock;
}

}  // namespace

struct transfer::state {
  state(const device& d, sizes s) : on(d), size(s) {}

  staging_slot make_slot(std::size_t bytes) {
    staging_slot slot(on, bytes);
    pinned_bytes += bytes;
    ++pinned_allocations;
    return slot;
  }

  // Lends a small slot for the length of a scope, at whose end a copy may still be under way.
  class lent_slot {
   public:
    lent_slot(state& s, const runtime::cancel_flag& cancel) : state_(s), slot_(s.take_small(cancel)) {}
    ~lent_slot() {
      const std::lock_guard lock(state_.small_mutex);
      state_.small.push_back(std::move(slot_));
    }
    lent_slot(const lent_slot&) = delete;
    lent_slot& operator=(const lent_slot&) = delete;
    staging_slot* operator->() { return &slot_; }
    staging_slot& operator*() { return slot_; }

   private:
    state& state_;
    staging_slot slot_;
  };

  // A small slot that no copy uses.
  staging_slot take_small(const runtime::cancel_flag& cancel) {
    for (backoff b;; b.pause()) {
      {
        const std::lock_guard lock(small_mutex);
        const auto idle = std::find_if(small.begin(), small.end(), [](const staging_slot& slot) { return slot.idle(); });
        if (idle != small.end()) {
          staging_slot slot = std::move(*idle);
          small.erase(idle);
          return slot;
        }
        if (small_made < most_small_slots) {
          staging_slot slot = make_slot(size.small);
          ++small_made;
          return slot;
        }
      }
      cancel.check();
    }
  }

  // Makes the slots of a ring that are missing; with fewer, if at least one, transfers are slower and no more.
  void fill_ring(ring& r) {
    try {
      while (r.slots.size() < static_cast<std::size_t>(size.pieces)) r.slots.push_back(make_slot(size.piece));
    } catch (const resource_error&) {
      if (r.slots.empty()) throw;
    }
  }

  template <class Slots> std::size_t free_idle(Slots& slots) {
    std::size_t bytes = 0;
    const auto n = std::erase_if(slots, [&](const staging_slot& slot) {
      if (!slot.idle()) return false;
      bytes += slot.size();
      return true;
    });
    pinned_bytes -= bytes;
    return n;
  }

  const device& on;
  const sizes size;
  ring up, down;
  std::mutex small_mutex;
  std::deque<staging_slot> small;  // not lent; the longest unused first
  std::size_t small_made = 0;
  std::atomic<std::uint64_t> bytes_up{0}, bytes_down{0}, transfers{0}, pinned_allocations{0};
  std::atomic<std::size_t> pinned_bytes{0};
};

transfer::transfer(const device& d, sizes s) : state_(std::make_unique<state>(d, s)) {}
transfer::~transfer() = default;

void transfer::trim() {
  for (ring* r : {&state_->up, &state_->down})
    if (const std::unique_lock turn(r->turn, std::try_to_lock); turn) state_->free_idle(r->slots);
  const std::lock_guard lock(state_->small_mutex);
  state_->small_made -= state_->free_idle(state_->small);
}

void transfer::upload(device_address to, std::size_t bytes, std::size_t granule, fill_function fill, const stream& s,
                      runtime::scheduler& threads, const runtime::cancel_flag& cancel) {
  const std::size_t size = std::max<std::size_t>(granule, 1);
  const column whole{to, size};
  const auto fill_rows = [&](std::size_t first, std::size_t n, std::byte* const* at) { fill(first * size, n * size, *at); };
  const part one{bytes / size, {&whole, 1}, fill_rows};
  upload_all({&one, 1}, s, threads, cancel);
}

void transfer::upload_all(std::span<const part> parts, const stream& s, runtime::scheduler& threads, const runtime::cancel_flag& cancel) {
  std::vector<columns_of_rows> large;
  std::size_t total = 0, read = 0;
  for (const part& one : parts) {
    if (one.n == 0) continue;
    cancel.check();
    call_witness::tell("cuMemcpyHtoDAsync");  // the copies may be given by other threads
    const columns_of_rows c(one);
    if (c.bytes() > state_->size.small) {
      large.push_back(c);
      total += c.bytes();
      read += c.read();
      continue;
    }
    state::lent_slot slot(*state_, cancel);
    c.fill(slot->data(), one.n, 0, 0, one.n);
    c.send(*slot, one.n, 0, one.n, s);
    state_->bytes_up += c.bytes();
    ++state_->transfers;
  }
  if (large.empty()) return;
  const double wanted = std::ceil(threads_of_a_bus * static_cast<double>(read) / static_cast<double>(total));
  const int by = static_cast<int>(std::min<double>(wanted, threads.concurrency()));
  std::vector<cut> cuts;
  std::size_t pieces = 0, tasks = 0;
  for (const columns_of_rows& one : large) {
    cut& c = cuts.emplace_back(one.bytes(), total, one.row_bytes, state_->size, by);
    c.first_piece = pieces;
    c.first_task = tasks;
    pieces += c.pieces();
    tasks += c.tasks();
  }
  const auto turn = take_turn(state_->up, cancel);
  state_->fill_ring(state_->up);
  pipeline pipe(state_->on, state_->up.slots, pieces, cancel);
  pipe.run(threads, static_cast<std::size_t>(by), tasks, [&](std::size_t of_all) {
    const auto after = std::upper_bound(cuts.begin(), cuts.end(), of_all, [](std::size_t t, const cut& c) { return t < c.first_task; });
    const cut& c = *std::prev(after);
    const columns_of_rows& one = large[static_cast<std::size_t>(&c - cuts.data())];
    const std::size_t t = of_all - c.first_task, in_part = c.piece_of(t), p = c.first_piece + in_part, row = one.row_bytes;
    pipe.wait_for(p, pipe.round(p));
    one.fill(pipe.slot(p).data(), c.piece / row, c.in_piece(t) / row, t * c.task / row, c.task_bytes(t) / row);
    if (!pipe.last_of_piece(p, c.tasks_of(in_part))) return;
    one.send(pipe.slot(p), c.piece / row, in_part * c.piece / row, c.piece_bytes(in_part) / row, s);
    pipe.copy_given(p);
  });
  state_->bytes_up += total;
  state_->transfers += large.size();
}

void transfer::upload_plain(device_address to, const void* from, std::size_t bytes, const stream& s, runtime::scheduler& threads,
                            const runtime::cancel_flag& cancel) {
  const auto* source = static_cast<const std::byte*>(from);
  upload(to, bytes, 1, [source](std::size_t first, std::size_t n, void* at) { std::memcpy(at, source + first, n); }, s, threads, cancel);
}

void transfer::download(take_function take, device_address from, std::size_t bytes, std::size_t granule, const stream& s,
                        runtime::scheduler& threads, const runtime::cancel_flag& cancel) {
  if (bytes == 0) return;
  cancel.check();
  call_witness::tell("cuMemcpyDtoHAsync");
  if (bytes <= state_->size.small) {
    state::lent_slot slot(*state_, cancel);
    slot->receive(from, bytes, s);
    slot->wait(cancel);
    take(0, bytes, slot->data());
  } else {
    const cut c(bytes, bytes, granule, state_->size, threads.concurrency());
    // The turn comes after the wait for what the stream still computes: transfers on other streams need not wait for that.
    event computed(state_->on);
    computed.record(s);
    computed.wait(cancel);
    const auto turn = take_turn(state_->down, cancel);
    state_->fill_ring(state_->down);
    pipeline pipe(state_->on, state_->down.slots, c.pieces(), cancel);
    const auto give = [&](std::size_t p) {
      pipe.slot(p).receive(from + p * c.piece, c.piece_bytes(p), s);
      pipe.copy_given(p);
    };
    const std::size_t slots = state_->down.slots.size();
    for (std::size_t p = 0; p < std::min(slots, c.pieces()); ++p) {
      pipe.slot(p).wait(cancel);  // a copy of a cancelled transfer may still be under way
      give(p);
    }
    pipe.run(threads, static_cast<std::size_t>(threads.concurrency()), c.tasks(), [&](std::size_t t) {
      const std::size_t p = c.piece_of(t);
      pipe.wait_for(p, pipe.round(p) + 1);
      take(t * c.task, c.task_bytes(t), pipe.slot(p).data() + c.in_piece(t));
      if (pipe.last_of_piece(p, c.tasks_of(p)) && p + slots < c.pieces()) give(p + slots);
    });
  }
  state_->bytes_down += bytes;
  ++state_->transfers;
}

void transfer::download_plain(void* to, device_address from, std::size_t bytes, const stream& s, runtime::scheduler& threads,
                              const runtime::cancel_flag& cancel) {
  auto* target = static_cast<std::byte*>(to);
  download([target](std::size_t first, std::size_t n, const void* at) { std::memcpy(target + first, at, n); }, from, bytes, 1, s, threads,
           cancel);
}

transfer_counters transfer::counters() const {
  const state& s = *state_;
  return {s.bytes_up, s.bytes_down, s.transfers, s.pinned_bytes, s.pinned_allocations};
}

}  // namespace query::gpu_engine
