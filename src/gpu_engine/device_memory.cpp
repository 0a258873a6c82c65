#include "gpu_engine/device_memory.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "gpu_engine/backoff.hpp"
#include "gpu_engine/reserved_room.hpp"
#include "gpu_engine/room_parts.hpp"
#include "gpu_engine/round_recording.hpp"

namespace query::gpu_engine {
namespace {

constexpr std::size_t kib = 1024, mib = 1024 * kib;
constexpr std::size_t smallest = 512;        // bytes; the driver's own alignment
constexpr std::size_t page = 2 * mib;        // the driver maps memory in these
constexpr std::size_t large = 64 * mib;
constexpr double trim_seconds = 10;          // how long trim waits for work that uses the memory,
constexpr double short_trim_seconds = 0.05;  // and allocations, after one that waited in vain, until one did not

thread_local const reserved_room* serving_room = nullptr;  // this thread's allocations

// Rounds up to one of four sizes an octave, one of sixteen for large blocks: a quarter is wasted at most, of large blocks a
// sixteenth. From 2 MiB on to whole pages. 0: more than there are addresses.
std::size_t size_class(std::size_t bytes) {
  if (bytes <= smallest) return smallest;
  std::size_t step = std::bit_floor(bytes) / (bytes >= large ? 16 : 4);
  if (bytes >= page) step = std::max(step, page);
  if (bytes > std::numeric_limits<std::size_t>::max() - step) return 0;
  return (bytes + step - 1) / step * step;
}

// The largest class that may serve a smaller one.
std::size_t largest_fit(std::size_t size) { return size + size / (size >= large ? 16 : 4); }

std::string amount(std::size_t bytes) {
  return bytes < mib ? std::to_string(bytes) + " bytes" : std::to_string(bytes / mib) + " MiB";
}

}  // namespace

using reserved_room_key = std::pair<std::shared_ptr<class device_memory_state>, device_address>;

// Reuse between streams follows RMM's pool_memory_resource: a block of the same stream first, else one of another stream
// after an event recorded when it was released; the driver is asked last.
class device_memory_state : public std::enable_shared_from_this<device_memory_state> {
 public:
  device_memory_state(const device& d, std::size_t budget)
      : on_(d), budget_(budget != 0 ? budget : (d.free_memory() + kept_on(d)) / 10 * 9), housekeeping_(d) {}

  // The pools of this process that are alive, those of all devices. Never destroyed: sessions of static objects may end after it would.
  struct pools {
    std::mutex mutex;
    std::vector<std::weak_ptr<device_memory_state>> alive;
  };
  static pools& all() {
    static pools& p = *std::make_unique<pools>().release();
    return p;
  }
  static std::vector<std::shared_ptr<device_memory_state>> all_on(const device& d) {
    std::vector<std::shared_ptr<device_memory_state>> found;
    pools& p = all();
    const std::lock_guard lock(p.mutex);
    std::erase_if(p.alive, [](const auto& w) { return w.expired(); });
    for (const auto& w : p.alive)
      if (auto pool = w.lock(); pool && pool->on_.ordinal() == d.ordinal() && &pool->on_.calls() == &d.calls())
        found.push_back(std::move(pool));
    return found;
  }
  // Bytes that other pools keep for reuse there, which they give back when one needs them.
  static std::size_t kept_on(const device& d) {
    std::size_t bytes = 0;
    for (const auto& pool : all_on(d)) bytes += pool->counters().cached;
    return bytes;
  }
  void join_the_others() {
    pools& p = all();
    const std::lock_guard lock(p.mutex);
    p.alive.push_back(weak_from_this());
  }

  device_buffer allocate(std::size_t bytes, const stream& s) {
    device_buffer b;
    if (bytes == 0) return b;
    const std::size_t size = size_class(bytes);
    std::unique_lock lock(mutex_);
    if (serving_room && serving_room->pool_.get() == this && part_of(serving_room->at_, bytes, s, b)) return b;
    if (failing_ != 0 && --failing_ == 0) failing_ = later_too_ ? 1 : 0, refuse(bytes, "the driver has no memory left (injected)");
    if (size == 0) refuse(bytes, "more than there are addresses");
    if (std::optional<block> kept = reuse(size, s)) {
      b.address_ = kept->address;
      b.capacity_ = kept->size;
    } else {
      if (size > budget_ || counted_.used > budget_ - size) refuse(bytes, "over the session's budget");
      if (counted_.cached > budget_ - size - counted_.used) give_back(budget_ - size - counted_.used);
      counted_.used += size;  // before the lock is given up, so that others do not count on it
      try {
        b.address_ = ask_driver(bytes, size, s, lock);
      } catch (...) {
        counted_.used -= size;
        throw;
      }
      counted_.used -= size;
      b.capacity_ = size;
      ++counted_.driver_allocations;
    }
    b.size_ = bytes;
    b.owner_ = shared_from_this();
    b.stream_ = s.keep();
    ++counted_.allocations;
    counted_.used += b.capacity_;
    counted_.peak = std::max(counted_.peak, counted_.used);
    return b;
  }

  void release(device_address address, std::size_t capacity, const stream_state& s) noexcept {
    device_buffer ended;  // the memory of a room whose last part this was: released without the lock
    const std::lock_guard lock(mutex_);
    if (const auto of = room_of(address); of != rooms_.end()) {
      put_back(of, address, capacity, s, ended);
      return;
    }
    counted_.used -= capacity;
    try {
      if (!closed_) {
        keep(address, capacity, s);
        return;
      }
    } catch (...) {  // no memory for the list, or a lost device: then the block is not kept
    }
    const scoped_context here(on_);
    free_on(address, s.handle);
  }

  // A room's memory, and its key. All parts that are out keep it.
  static reserved_room_key open_room(device_buffer memory) {
    const std::shared_ptr<device_memory_state> pool = memory.owner_;
    const device_address at = memory.address_;
    const std::lock_guard lock(pool->mutex_);
    // What throws comes before the room has the memory: its release takes the lock.
    auto made = std::make_unique<room>(room_parts(at, memory.size_), memory.stream_);
    room& r = *pool->rooms_.emplace(at, std::move(made)).first->second;
    r.memory = std::move(memory);
    return {pool, at};
  }
  void close_room(device_address at) noexcept {
    device_buffer ended;
    const std::lock_guard lock(mutex_);
    const auto of = rooms_.find(at);
    of->second->closed = true;
    end_if_empty(of, ended);
  }

  // Frees what is kept, and waits for it.
  void trim(std::size_t keep_bytes) {
    {
      const std::lock_guard lock(mutex_);
      give_back(keep_bytes);
    }
    settle(false);
  }

  // The pool's object is gone: nothing is kept from now on.
  void close() noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    give_back(0);
  }

  const device& on() const { return on_; }
  std::size_t budget() const { return budget_; }
  device_memory_counters counters() const {
    const std::lock_guard lock(mutex_);
    return counted_;
  }
  void reset_peak() {
    const std::lock_guard lock(mutex_);
    counted_.peak = counted_.used;
  }
  void fail_allocation(std::uint64_t n, bool and_all_later) {
    const std::lock_guard lock(mutex_);
    failing_ = n;
    later_too_ = and_all_later;
  }

 private:
  struct block {
    device_address address;
    std::size_t size;
    std::uint64_t stream;  // on which it was released,
    event released;        // and when
  };

  // Memory that is given out in parts. What was given back is free for what `last` is given from then on.
  struct room {
    room(room_parts p, std::shared_ptr<const stream_state> s) : parts(std::move(p)), last(std::move(s)) {}
    room_parts parts;
    std::shared_ptr<const stream_state> last;
    device_buffer memory;
    bool closed = false;
  };
  using rooms = std::map<device_address, std::unique_ptr<room>>;  // by where they begin

  // Everything below is called with the lock held.

  rooms::iterator room_of(device_address at) {
    const auto next = rooms_.upper_bound(at);
    if (next == rooms_.begin()) return rooms_.end();
    const auto found = std::prev(next);
    return at < found->first + found->second->memory.size_ ? found : rooms_.end();
  }

  // False: the room has not so much in one piece.
  bool part_of(device_address of, std::size_t bytes, const stream& s, device_buffer& b) {
    room& r = *rooms_.at(of);
    const std::size_t size = reserved_room::bytes_of(bytes);
    const std::optional<device_address> at = r.parts.take(size);
    if (!at) return false;
    try {
      in_order(*r.last, *s.keep());
    } catch (...) {
      r.parts.put_back(*at, size);
      throw;
    }
    r.last = s.keep();
    b.address_ = *at;
    b.size_ = bytes;
    b.capacity_ = size;
    b.owner_ = shared_from_this();
    b.stream_ = s.keep();
    return true;
  }

  // A part whose order is not to be had (a lost device) is free all the same: nothing runs there any more.
  void put_back(rooms::iterator of, device_address at, std::size_t bytes, const stream_state& s, device_buffer& ended) noexcept {
    room& r = *of->second;
    try {
      in_order(s, *r.last);
    } catch (...) {
    }
    try {
      r.parts.put_back(at, bytes);
    } catch (const std::bad_alloc&) {  // the part is not given again, and the room ends as it would
    }
    end_if_empty(of, ended);
  }

  void end_if_empty(rooms::iterator of, device_buffer& ended) noexcept {
    room& r = *of->second;
    if (!r.closed || r.parts.given()) return;
    try {
      in_order(*r.last, *r.memory.stream_);
    } catch (...) {
    }
    ended = std::move(r.memory);
    rooms_.erase(of);
  }

  // What `after` is given from now on starts after all that `before` was given so far.
  static void in_order(const stream_state& before, const stream_state& after) {
    if (before.id == after.id) return;
    const event so_far(before.on);
    const scoped_context here(before.on);
    QUERY_CUDA(before.on.calls(), cuEventRecord, so_far.handle(), before.handle);
    QUERY_CUDA(before.on.calls(), cuStreamWaitEvent, after.handle, so_far.handle(), 0);
  }

  void keep(device_address address, std::size_t size, const stream_state& s) {
    event released = spare_event();
    {
      const scoped_context here(on_);
      QUERY_CUDA(on_.calls(), cuEventRecord, released.handle(), s.handle);
    }
    free_[size].push_back({address, size, s.id, std::move(released)});
    counted_.cached += size;
  }

  event spare_event() {
    if (spare_.empty()) return event(on_);
    event e = std::move(spare_.back());
    spare_.pop_back();
    return e;
  }

  // A kept block of this class or one little larger, safe to use on the stream; or nothing.
  std::optional<block> reuse(std::size_t size, const stream& s) {
    const std::uint64_t id = s.keep()->id;
    const auto first = free_.lower_bound(size), last = free_.upper_bound(largest_fit(size));
    for (auto list = first; list != last; ++list) {
      // The newest of the same stream: its content may still be in the device's cache.
      const auto same = std::find_if(list->second.rbegin(), list->second.rend(), [id](const block& b) { return b.stream == id; });
      if (same != list->second.rend()) return take(list, std::prev(same.base()));
    }
    if (first == last) return std::nullopt;
    const auto oldest = first->second.begin();
    if (!oldest->released.done()) {
      s.wait(oldest->released);
      ++counted_.stream_waits;
    }
    return take(first, oldest);
  }

  using free_lists = std::map<std::size_t, std::deque<block>>;

  block take(free_lists::iterator list, std::deque<block>::iterator which) {
    block b = std::move(*which);
    list->second.erase(which);
    if (list->second.empty()) free_.erase(list);
    counted_.cached -= b.size;
    spare_.push_back(std::move(b.released));  // a wait for it already has what it needs
    return b;
  }

  // Gives the lock up while it waits: others may take what is kept by then, or release.
  device_address ask_driver(std::size_t bytes, std::size_t size, const stream& s, std::unique_lock<std::mutex>& lock) {
    device_address at = 0;
    int result = try_driver(&at, size, s);
    if (result == cuda_result::out_of_memory) {
      give_back(0);
      const struct unlocked {
        std::unique_lock<std::mutex>& lock;
        explicit unlocked(std::unique_lock<std::mutex>& l) : lock(l) { lock.unlock(); }
        ~unlocked() { lock.lock(); }
      } meanwhile(lock);
      settle();
      result = try_driver(&at, size, s);
      if (result == cuda_result::out_of_memory && others_give_back()) result = try_driver(&at, size, s);
    }
    if (result == cuda_result::out_of_memory) refuse(bytes, "the driver has no memory left", size);
    on_.calls().check(result, "cuMemAllocAsync");
    return at;
  }

  // What other sessions keep for reuse on this device goes back to the driver. Called without the lock: two that ask each other must not
  // wait for each other.
  bool others_give_back() {
    bool some = false;
    for (const auto& other : all_on(on_)) {
      if (other.get() == this) continue;
      {
        const std::lock_guard lock(other->mutex_);
        if (other->counted_.cached == 0) continue;
        other->give_back(0);
      }
      other->settle();
      some = true;
    }
    return some;
  }

  int try_driver(device_address* at, std::size_t size, const stream& s) const {
    const scoped_context here(on_);
    return on_.has_memory_pools() ? on_.calls().cuMemAllocAsync(at, size, s.handle()) : on_.calls().cuMemAlloc(at, size);
  }

  // Results are not looked at: this also runs where nothing may throw, and a failed device says so at the next call.
  void free_on(device_address address, stream_handle s) const noexcept {
    if (on_.has_memory_pools()) on_.calls().cuMemFreeAsync(address, s);
    else on_.calls().cuMemFree(address);  // waits for the device by itself
  }

  // Frees kept blocks, largest first, until at most `keep_bytes` are kept: in order after the work that used them.
  void give_back(std::size_t keep_bytes) noexcept {
    const scoped_context here(on_);
    while (counted_.cached > keep_bytes) {
      const auto list = std::prev(free_.end());
      const block& b = list->second.front();
      on_.calls().cuStreamWaitEvent(housekeeping_.handle(), b.released.handle(), 0);
      free_on(b.address, housekeeping_.handle());
      counted_.cached -= b.size;
      list->second.pop_front();
      if (list->second.empty()) free_.erase(list);
    }
  }

  // Waits until the freed blocks are free, and has the driver give the memory back to the system. The one thing here that is called
  // without the lock, as it may take seconds: once. As long as what was waited for then has not ended, a query that asks for memory again
  // and again does not wait as long each time. Throws cancelled where the query that this thread works for stops meanwhile.
  void settle(bool allocating = true) {
    if (!on_.has_memory_pools()) return;
    const detail::stop_point stop;
    const double most = allocating && in_vain() ? short_trim_seconds : trim_seconds;
    bool done = false;
    for (backoff b; !(done = housekeeping_.done()) && b.seconds() < most; b.pause()) stop.check();
    if (!done) was_in_vain();
    const scoped_context here(on_);
    memory_pool_handle pool = nullptr;
    QUERY_CUDA(on_.calls(), cuDeviceGetDefaultMemPool, &pool, on_.handle());
    QUERY_CUDA(on_.calls(), cuMemPoolTrimTo, pool, 0);
  }

  // Has what a settle() gave up waiting for not ended yet?
  bool in_vain() {
    const std::lock_guard lock(vain_mutex_);
    return in_vain_ && !in_vain_->done();
  }
  void was_in_vain() {
    const std::lock_guard lock(vain_mutex_);
    if (in_vain_ && !in_vain_->done()) return;  // the same still
    in_vain_.emplace(on_);
    in_vain_->record(housekeeping_);
  }

  [[noreturn]] void refuse(std::size_t bytes, const char* why, std::size_t counted_on = 0) const {
    throw out_of_memory("gpu: memory: cannot allocate " + amount(bytes) + " on " + on_.name() + ": " + why + "; in use: " +
                         amount(counted_.used - counted_on) + ", kept for reuse: " + amount(counted_.cached) +
                         ", budget: " + amount(budget_) + ", free on the device: " + amount(on_.free_memory()));
  }

  const device& on_;
  const std::size_t budget_;
  const stream housekeeping_;  // on which kept blocks are freed
  mutable std::mutex mutex_;
  free_lists free_;            // by size; the oldest first
  std::vector<event> spare_;
  device_memory_counters counted_;
  std::uint64_t failing_ = 0;
  bool later_too_ = false;
  bool closed_ = false;
  rooms rooms_;
  std::mutex vain_mutex_;
  std::optional<event> in_vain_;  // behind the work that a settle() gave up waiting for
};

void device_buffer::hand_over(const stream& to) {
  if (address_ == 0 || stream_->id == to.keep()->id) return;
  event given(stream_->on);
  {
    const scoped_context here(stream_->on);
    QUERY_CUDA(stream_->on.calls(), cuEventRecord, given.handle(), stream_->handle);
  }
  to.wait(given);
  stream_ = to.keep();
}

void device_buffer::reset() noexcept {
  if (address_ == 0) return;
  if (round_recording* r = round_recording::here(); r && r->keep(std::move(*this))) return;  // rounds to come use it
  owner_->release(address_, capacity_, *stream_);
  owner_.reset();
  stream_.reset();
  address_ = 0;
  size_ = capacity_ = 0;
}

device_memory::device_memory(const device& d, std::size_t budget_bytes)
    : state_(std::make_shared<device_memory_state>(d, budget_bytes)) {
  state_->join_the_others();
}
device_memory::~device_memory() { state_->close(); }
device_buffer device_memory::allocate(std::size_t bytes, const stream& s) { return state_->allocate(bytes, s); }
const device& device_memory::on() const { return state_->on(); }
std::size_t device_memory::budget() const { return state_->budget(); }
std::size_t device_memory::available() const {
  const std::size_t used = counters().used;
  return used < budget() ? budget() - used : 0;
}
device_memory_counters device_memory::counters() const { return state_->counters(); }
void device_memory::reset_peak() { state_->reset_peak(); }
void device_memory::trim(std::size_t keep_bytes) { state_->trim(keep_bytes); }
void device_memory::fail_allocation(std::uint64_t n, bool and_all_later) { state_->fail_allocation(n, and_all_later); }

reserved_room::reserved_room(device_memory& from, std::size_t bytes, const stream& s) {
  std::tie(pool_, at_) = device_memory_state::open_room(from.allocate(bytes_of(bytes), s));
}
reserved_room::~reserved_room() { pool_->close_room(at_); }
reserved_room::serving::serving(const reserved_room* room) : before_(std::exchange(serving_room, room)) {}
reserved_room::serving::~serving() { serving_room = before_; }
bool reserved_room::serving::here() { return serving_room != nullptr; }

}  // namespace query::gpu_engine
