#include "runtime/buffer_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <list>
#include <map>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include <query/detail/discard.hpp>
#include <query/errors.hpp>

#include "runtime/unneeded_memory.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define QUERY_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define QUERY_ADDRESS_SANITIZER 1
#endif
#endif
#ifdef QUERY_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, n) (static_cast<void>(at), static_cast<void>(n))
#define ASAN_UNPOISON_MEMORY_REGION(at, n) (static_cast<void>(at), static_cast<void>(n))
#endif

namespace query::runtime {
namespace {

constexpr std::size_t kib = 1024, mib = 1024 * kib;
constexpr std::size_t huge_page = 2 * mib;
constexpr std::size_t smallest_kept = 64 * kib;  // below, the system's allocator is as good
constexpr std::size_t line = 64;
constexpr std::size_t kept_unneeded = 32 * mib;  // of what nobody has reused for a while, at most
constexpr std::size_t share_to_reuse = 8;  // of the limit: evicted beyond what is asked for, as room for buffers that are kept

// Rounds up to one of four sizes an octave, and from 2 MiB on to whole huge pages: at most a quarter is wasted.
std::size_t size_class(std::size_t bytes) {
  if (bytes < smallest_kept) return (bytes + line - 1) / line * line;
  const std::size_t step = bytes >= huge_page && std::bit_floor(bytes) / 4 < huge_page ? huge_page : std::bit_floor(bytes) / 4;
  if (bytes > std::numeric_limits<std::size_t>::max() - step) return 0;
  return (bytes + step - 1) / step * step;
}

void* map_huge(std::size_t bytes) {
  // Maps one huge page more and cuts the ends off: the kernel does not align mappings by itself.
  void* at = ::mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  const std::uintptr_t aligned = (begin + huge_page - 1) / huge_page * huge_page;
  if (aligned > begin) ::munmap(at, aligned - begin);
  const std::uintptr_t end = aligned + bytes;
  if (begin + huge_page > aligned) ::munmap(reinterpret_cast<void*>(end), begin + huge_page - aligned);
  void* result = reinterpret_cast<void*>(aligned);
  ::madvise(result, bytes, MADV_HUGEPAGE);  // refused by some systems: then pages are small, no more
  return result;
}

// Aligned by hand, with the address that the system gave before it: glibc hardly reuses what its aligned allocation has cut off and freed.
void* align_small(std::size_t bytes) {
  void* const whole = ::operator new(bytes + line, std::nothrow);
  if (!whole) return nullptr;
  static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= sizeof(void*) && line > __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  auto* const at = reinterpret_cast<void**>((reinterpret_cast<std::uintptr_t>(whole) / line + 1) * line);
  at[-1] = whole;
  return at;
}

void* take_from_system(std::size_t bytes) { return bytes >= huge_page ? map_huge(bytes) : align_small(bytes); }

void give_to_system(void* at, std::size_t bytes) noexcept {
  ASAN_UNPOISON_MEMORY_REGION(at, bytes);
  if (bytes >= huge_page) {
    ::munmap(at, bytes);
    return;
  }
#ifndef QUERY_ADDRESS_SANITIZER
  // The system's allocator keeps what lies between blocks that are in use; the pages go back at once.
  if (bytes >= smallest_kept) {
    constexpr std::uintptr_t page = 4 * kib;
    const auto begin = reinterpret_cast<std::uintptr_t>(at);
    const std::uintptr_t first = (begin + page - 1) / page * page, end = (begin + bytes) / page * page;
    ::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
  }
#endif
  ::operator delete(static_cast<void**>(at)[-1]);
}

// Makes use after free visible. Large buffers are marked at their ends only: writing all of one would cost its pages.
void poison([[maybe_unused]] void* at, [[maybe_unused]] std::size_t bytes, [[maybe_unused]] std::size_t used) noexcept {
#ifndef NDEBUG
  constexpr std::size_t end = 4 * kib;
  if (used <= 2 * end) {
    std::memset(at, 0xDB, used);
  } else {
    std::memset(at, 0xDB, end);
    std::memset(static_cast<std::byte*>(at) + used - end, 0xDB, end);
  }
#endif
  ASAN_POISON_MEMORY_REGION(at, bytes);
}

// "1.5 MiB": what is asked for and what there is may differ by less than one.
std::string readable(std::size_t bytes) {
  if (bytes < kib) return std::to_string(bytes) + " bytes";
  const std::size_t unit = bytes < mib ? kib : mib, tenths = bytes % unit * 10 / unit;
  return std::to_string(bytes / unit) + (tenths ? "." + std::to_string(tenths) : "") + (unit == kib ? " KiB" : " MiB");
}

}  // namespace

// The pools of this process that keep memory and have no living buffers, the one that was in use last at the front.
class idle_list {
 public:
  static idle_list& of_process() {
    static idle_list* const all = new idle_list;  // outlives the pools of static sessions
    return *all;
  }
  void rests(class pool_state& p);
  void ends(class pool_state& p) noexcept {
    const std::lock_guard hold(lock_);
    pools_.remove(&p);
  }

 private:
  std::mutex lock_;  // taken before a pool's
  std::list<class pool_state*> pools_;
};

class pool_state final : public memory_keeper, public std::enable_shared_from_this<pool_state> {
 public:
  explicit pool_state(std::size_t limit) : limit_(limit) {}
  ~pool_state() override {
    idle_list::of_process().ends(*this);
    trim(0);
  }

  buffer allocate(std::size_t bytes) {
    buffer b;
    if (bytes == 0) return b;
    const std::size_t size = size_class(bytes);
    if (size == 0) refuse(bytes, "more than there are addresses");
    if (exceeds(size)) detail::wait_for_discarded();  // a stopped query's rows may be on their way
    while (!reserve(size, b))
      if (!make_room(size)) refuse_over_limit(size);
    if (b.data_ == nullptr) {
      b.data_ = take_from_system(size);
      if (b.data_ == nullptr) {
        trim(0);
        b.data_ = take_from_system(size);
      }
      if (b.data_ == nullptr) {
        const std::lock_guard lock(mutex_);
        used_ -= size;
        refuse(bytes, "the system has no memory left");
      }
    }
    b.size_ = bytes;
    b.owner_ = shared_from_this();
    ASAN_POISON_MEMORY_REGION(b.data_, b.capacity_);
    ASAN_UNPOISON_MEMORY_REGION(b.data_, bytes);
    return b;
  }

  void charge_bytes(std::size_t bytes) {
    if (exceeds(bytes)) detail::wait_for_discarded();
    while (!reserve_charge(bytes))
      if (!make_room(bytes)) refuse_over_limit(bytes);
  }
  void discharge(std::size_t bytes) noexcept {
    bool rests = false;
    {
      const std::lock_guard lock(mutex_);
      used_ -= bytes;
      rests = used_ == 0 && cached_ > 0;
    }
    if (rests) idle_list::of_process().rests(*this);
  }

  void release(void* at, std::size_t capacity, std::size_t used) noexcept {
    bool kept = false, rests = false, much = false;
    if (capacity >= smallest_kept) poison(at, capacity, used);
    {
      const std::lock_guard lock(mutex_);
      used_ -= capacity;
      tell_used();
      if (capacity >= smallest_kept && !closed_) {
        try {
          free_[capacity].blocks.push_back(at);
          cached_ += capacity;
          kept = true;
          if (cached_ > most_unneeded() && !watched_) {
            much = watched_ = true;
            for (auto& [bytes, k] : free_) k.least = 0;
          }
        } catch (const std::bad_alloc&) {  // then it is not kept
        }
      }
      rests = used_ == 0 && cached_ > 0;
    }
    if (!kept) give_to_system(at, capacity);
    if (rests) idle_list::of_process().rests(*this);
    if (much) watch();
  }
  bool give_back_unneeded() noexcept override {
    std::vector<std::pair<void*, std::size_t>> gone;
    bool again = false;
    {
      const std::lock_guard lock(mutex_);
      const std::size_t most = most_unneeded();
      try {
        for (auto k = free_.end(); k != free_.begin() && cached_ > most;) {
          auto& [blocks, least] = (--k)->second;
          for (; least && cached_ > most; --least) {
            gone.emplace_back(blocks.back(), k->first);
            blocks.pop_back();
            cached_ -= k->first;
          }
          if (blocks.empty()) k = free_.erase(k);
        }
      } catch (const std::bad_alloc&) {  // then less goes back this time
      }
      for (auto& [bytes, k] : free_) k.least = k.blocks.size();
      again = watched_ = cached_ > most;
    }
    for (const auto& [at, bytes] : gone) give_to_system(at, bytes);
    return again;
  }
  // What it keeps, unless it is in use again.
  void trim_if_idle() noexcept {
    const std::lock_guard lock(mutex_);
    if (used_ == 0) trim_locked(0);
  }

  void trim(std::size_t keep) noexcept {
    const std::lock_guard lock(mutex_);
    trim_locked(keep);
  }

  // The pool's object is gone: buffers that still live go straight back to the system.
  void close() noexcept {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    trim_locked(0);
  }

  void add(pool_evictor& e) {
    const std::lock_guard enter(entrance_);
    const std::unique_lock hold(evicting_);
    evictors_.push_back(&e);
  }
  void remove(pool_evictor& e) {
    const std::lock_guard enter(entrance_);
    const std::unique_lock hold(evicting_);
    std::erase(evictors_, &e);
  }

  std::size_t limit() const { return limit_; }
  std::size_t used() const { return locked(used_); }
  std::size_t peak() const { return locked(peak_); }
  std::size_t cached() const { return locked(cached_); }
  // Without the lock: they are called for each vertex of each query, and an allocation in between may be missed.
  void follow(int runs) {
    if (followed_.fetch_add(runs, std::memory_order_relaxed) == 0) (void)take_recent_peak();
  }
  std::size_t take_recent_peak() {
    const std::size_t peak = recent_peak_.load(std::memory_order_relaxed);
    if (followed_.load(std::memory_order_relaxed) == 1)
      recent_peak_.store(used_now_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return peak;
  }
  void reset_peak() {
    const std::lock_guard lock(mutex_);
    peak_ = used_;
  }

 private:
  bool over_limit(std::size_t size) const { return limit_ != 0 && (size > limit_ || used_ > limit_ - size); }
  bool exceeds(std::size_t size) const {
    const std::lock_guard lock(mutex_);
    return over_limit(size);
  }
  // A kept buffer, or room for one from the system, which is counted before the lock is left.
  bool reserve(std::size_t size, buffer& b) {
    const std::lock_guard lock(mutex_);
    b.data_ = reuse(size, b.capacity_);
    if (b.data_ == nullptr) {
      if (over_limit(size)) return false;
      make_room_of_cached(size);
      b.capacity_ = size;
      used_ += size;
    }
    peak_ = std::max(peak_, used_);
    tell_used();
    if (used_ > recent_peak_.load(std::memory_order_relaxed)) recent_peak_.store(used_, std::memory_order_relaxed);
    return true;
  }
  bool reserve_charge(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (over_limit(bytes)) return false;
    make_room_of_cached(bytes);
    used_ += bytes;
    peak_ = std::max(peak_, used_);
    return true;
  }
  void make_room_of_cached(std::size_t size) noexcept {
    if (limit_ != 0 && used_ + cached_ > limit_ - size) trim_locked(limit_ - size - used_);
  }
  // False: nobody has anything to give. True: there was room, which others may take before the caller does.
  bool make_room(std::size_t size) {
    if (size > limit_) return false;
    std::exception_ptr trouble;
    {
      std::shared_lock hold(evicting_, std::defer_lock);
      {
        const std::lock_guard enter(entrance_);
        hold.lock();
      }
      if (evict_for(size, trouble)) return true;
    }
    // What other threads were about to give back has been given back when this one is alone.
    const std::lock_guard enter(entrance_);
    const std::unique_lock hold(evicting_);
    trouble = nullptr;
    if (evict_for(size, trouble)) return true;
    if (trouble) std::rethrow_exception(trouble);
    return false;
  }
  bool evict_for(std::size_t size, std::exception_ptr& trouble) {
    const std::size_t wanted = size + std::min(limit_ / share_to_reuse, limit_ - size);
    std::size_t empty = 0;
    for (std::size_t i = evictors_.size(); i-- > 0;) {
      pool_evictor* const e = evictors_[i];
      try {
        while (exceeds(wanted)) {
          if (e->evict(size)) continue;
          ++empty;
          break;
        }
      } catch (...) {
        trouble = std::current_exception();
        ++empty;
      }
    }
    return empty < evictors_.size() || !exceeds(size);
  }
  [[noreturn]] void refuse_over_limit(std::size_t size) const {
    const std::lock_guard lock(mutex_);
    refuse(size, "over the session's limit");
  }
  std::size_t locked(const std::size_t& value) const {
    const std::lock_guard lock(mutex_);
    return value;
  }

  // A kept buffer of this class, or of the next one, or null.
  void* reuse(std::size_t size, std::size_t& capacity) {
    const auto found = free_.lower_bound(size);
    if (found == free_.end() || found->first > size + size / 4) return nullptr;
    capacity = found->first;
    used_ += capacity;
    return take(found);
  }

  void tell_used() { used_now_.store(used_, std::memory_order_relaxed); }
  void trim_locked(std::size_t keep) noexcept {
    while (cached_ > keep) {
      const auto [at, bytes] = take_largest();
      give_to_system(at, bytes);
    }
  }
  // Of those that are kept.
  std::pair<void*, std::size_t> take_largest() noexcept {
    const auto largest = std::prev(free_.end());
    const std::size_t bytes = largest->first;
    return {take(largest), bytes};
  }
  // Blocks of one size that are kept, and the fewest of them since unneeded_memory looked.
  struct kept_blocks {
    std::vector<void*> blocks;
    std::size_t least = 0;
  };
  using kept_by_size = std::map<std::size_t, kept_blocks>;
  void* take(kept_by_size::iterator from) noexcept {
    auto& [blocks, least] = from->second;
    void* const at = blocks.back();
    blocks.pop_back();
    least = std::min(least, blocks.size());
    cached_ -= from->first;
    if (blocks.empty()) free_.erase(from);
    return at;
  }

  std::size_t most_unneeded() const { return limit_ == 0 ? kept_unneeded : std::min(kept_unneeded, limit_ / share_to_reuse); }
  void watch() noexcept {
    try {
      unneeded_memory::of_process().watch(weak_from_this());
    } catch (const std::exception&) {  // then nobody gives it back later
      const std::lock_guard lock(mutex_);
      watched_ = false;
      trim_locked(most_unneeded());
    }
  }

  // Call with the lock held, or before taking it.
  [[noreturn]] void refuse(std::size_t bytes, const char* why) const {
    throw resource_error(std::string("query: memory: cannot allocate ") + readable(bytes) + ": " + why + "; in use: " +
                         readable(used_) + ", limit: " + (limit_ == 0 ? "none" : readable(limit_)) +
                         "; raise the Session's memory limit, or filter or aggregate earlier in the query");
  }

  const std::size_t limit_;
  mutable std::mutex mutex_;
  kept_by_size free_;
  std::size_t used_ = 0, peak_ = 0, cached_ = 0;
  bool watched_ = false;  // unneeded_memory will look again
  std::atomic<std::size_t> used_now_{0}, recent_peak_{0};  // for who follows runs
  std::atomic<int> followed_{0};
  bool closed_ = false;
  std::mutex entrance_;         // threads that share evicting_ do not enter while one waits to have it alone
  std::shared_mutex evicting_;  // taken before mutex_
  std::vector<pool_evictor*> evictors_;
};

void idle_list::rests(pool_state& p) {
  const std::lock_guard hold(lock_);
  if (!pools_.empty() && pools_.front() == &p) return;
  if (const auto at = std::find(pools_.begin(), pools_.end(), &p); at != pools_.end()) pools_.splice(pools_.begin(), pools_, at);
  else pools_.push_front(&p);
  if (pools_.size() <= buffer_pool::idle_pools) return;
  pools_.back()->trim_if_idle();
  pools_.pop_back();
}

void buffer::reset() noexcept {
  if (data_ == nullptr) return;
  owner_->release(data_, capacity_, size_);
  owner_.reset();
  data_ = nullptr;
  size_ = capacity_ = 0;
}

void charge::grow(const buffer_pool& pool, std::size_t bytes) {
  if (bytes == 0) return;
  if (!owner_) owner_ = pool.state_;
  owner_->charge_bytes(bytes);
  bytes_ += bytes;
}
void charge::shrink(std::size_t bytes) noexcept {
  if (bytes == 0) return;
  bytes_ -= bytes;
  owner_->discharge(bytes);
}
void charge::take(charge&& other) noexcept {
  if (!owner_) owner_ = other.owner_;
  bytes_ += std::exchange(other.bytes_, 0);
}

buffer_pool::buffer_pool(std::size_t limit_bytes) : state_(std::make_shared<pool_state>(limit_bytes)) {}
buffer_pool::~buffer_pool() { state_->close(); }
buffer buffer_pool::allocate(std::size_t bytes) { return state_->allocate(bytes); }
std::size_t buffer_pool::limit() const { return state_->limit(); }
std::size_t buffer_pool::used() const { return state_->used(); }
std::size_t buffer_pool::peak() const { return state_->peak(); }
std::size_t buffer_pool::cached() const { return state_->cached(); }
void buffer_pool::reset_peak() { state_->reset_peak(); }
void buffer_pool::follow(int runs) { state_->follow(runs); }
std::size_t buffer_pool::take_recent_peak() { return state_->take_recent_peak(); }
void buffer_pool::trim(std::size_t keep_bytes) { state_->trim(keep_bytes); }
void buffer_pool::add(pool_evictor& e) { state_->add(e); }
void buffer_pool::remove(pool_evictor& e) { state_->remove(e); }

std::size_t buffer_pool::checked_bytes(std::size_t n, std::size_t size) {
  if (size != 0 && n > std::numeric_limits<std::size_t>::max() / size)
    throw resource_error("memory: more bytes than there are addresses: " + std::to_string(n) + " values of " +
                         std::to_string(size) + " bytes");
  return n * size;
}

}  // namespace query::runtime
