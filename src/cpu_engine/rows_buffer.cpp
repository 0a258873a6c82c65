#include "cpu_engine/rows_buffer.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include <query/cpu/segment_form.hpp>
#include <query/detail/discard.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/stop.hpp>

#include "runtime/leftover_rows.hpp"
#include "runtime/long_lists.hpp"

namespace query::cpu {

namespace {
std::byte* bytes(void* p) { return static_cast<std::byte*>(p); }
const std::byte* bytes(const void* p) { return static_cast<const std::byte*>(p); }
[[noreturn]] void cannot_copy(const ir::type* t) {
  throw detail::unplaced_error("rows have to be copied here, but the row type cannot be: " + std::string(t->name));
}
}  // namespace

void copy_rows(const ir::type* t, void* to, const void* from, std::size_t n) {
  if (!n) return;
  if (t->trivial) {
    std::memcpy(to, from, n * t->size);
  } else {
    if (!t->life.copy) cannot_copy(t);
    runtime::copy_rows_with_lists(*t, to, from, n);
  }
}
void move_rows(const ir::type* t, void* to, void* from, std::size_t n) {
  if (!n) return;
  if (t->trivial) std::memcpy(to, from, n * t->size);
  else if (t->life.move) t->life.move(to, from, n);
  else copy_rows(t, to, from, n);
}
void destroy_rows(const ir::type* t, void* at, std::size_t n) {
  if (!t->trivial && n && t->life.destroy) runtime::destroy_rows_with_lists(*t, at, n);
}
void relocate_rows(const ir::type* t, void* to, void* from, std::size_t n) {
  move_rows(t, to, from, n);
  destroy_rows(t, from, n);
}

template <class Id> void gather_rows(const ir::type* t, void* to, const void* from, const Id* rows, std::size_t n) {
  const std::size_t size = t->size;
  const auto trivially = [&](auto fixed) {
    constexpr std::size_t width = decltype(fixed)::value;
    detail::in_runs<batch_rows>(0, n, [&](std::size_t i, std::size_t end) {
      for (; i < end; ++i) std::memcpy(bytes(to) + i * width, bytes(from) + static_cast<std::size_t>(rows[i]) * width, width);
    });
  };
  if (t->trivial) {
    switch (size) {
      case 4: trivially(std::integral_constant<std::size_t, 4>{}); return;
      case 8: trivially(std::integral_constant<std::size_t, 8>{}); return;
      case 16: trivially(std::integral_constant<std::size_t, 16>{}); return;
      case 24: trivially(std::integral_constant<std::size_t, 24>{}); return;
      case 32: trivially(std::integral_constant<std::size_t, 32>{}); return;
      default:
        detail::in_runs<batch_rows>(0, n, [&](std::size_t i, std::size_t end) {
          for (; i < end; ++i) std::memcpy(bytes(to) + i * size, bytes(from) + static_cast<std::size_t>(rows[i]) * size, size);
        });
        return;
    }
  }
  std::size_t done = 0;
  try {
    detail::in_runs<batch_rows>(0, n, [&](std::size_t, std::size_t end) {
      for (; done < end; ++done) copy_rows(t, bytes(to) + done * size, bytes(from) + static_cast<std::size_t>(rows[done]) * size, 1);
    });
  } catch (...) {
    destroy_rows(t, to, done);
    throw;
  }
}
template void gather_rows<std::uint32_t>(const ir::type*, void*, const void*, const std::uint32_t*, std::size_t);
template void gather_rows<std::uint64_t>(const ir::type*, void*, const void*, const std::uint64_t*, std::size_t);

rows_buffer::rows_buffer(rows_buffer&& o) noexcept
    : type_(o.type_),
      pool_(o.pool_),
      memory_(std::move(o.memory_)),
      n_(std::exchange(o.n_, 0)),
      capacity_(std::exchange(o.capacity_, 0)),
      heap_(std::move(o.heap_)) {}

rows_buffer& rows_buffer::operator=(rows_buffer&& o) noexcept {
  if (this == &o) return *this;
  clear();
  type_ = o.type_;
  pool_ = o.pool_;
  memory_ = std::move(o.memory_);
  n_ = std::exchange(o.n_, 0);
  capacity_ = std::exchange(o.capacity_, 0);
  heap_ = std::move(o.heap_);
  return *this;
}

// Nobody waits for millions of strings to go once the query should stop, be it while they go. A list may hold all of them.
rows_buffer::~rows_buffer() {
  if (runtime::slow_to_destroy(*type_, n_)) {
    const bool lists = runtime::holds_lists(*type_);
    const detail::stop_state& query = *detail::stop_here;
    const bool thrown = std::uncaught_exceptions() > 0;
    const auto stopped = [&] { return thrown || query.stopped_now.load(std::memory_order_relaxed); };
    const std::size_t at_once = lists ? 1 : batch_rows;
    while (n_ > at_once && !stopped()) {
      n_ -= at_once;
      destroy_rows(type_, at(n_), at_once);
    }
    try {
      if (n_ > at_once || thrown || (lists && stopped())) detail::discard(std::make_shared<rows_buffer>(std::move(*this)));
    } catch (const std::bad_alloc&) {  // then they are destroyed here
    }
  }
  clear();
}

namespace {
struct scattered_rows {
  scattered_rows(rows_buffer m, std::vector<row_run> a) : memory(std::move(m)), alive(std::move(a)) {}
  scattered_rows(scattered_rows&&) = default;
  ~scattered_rows() {
    for (const row_run& r : alive) destroy_rows(memory.type(), memory.at(r.first), r.n);
  }
  rows_buffer memory;
  std::vector<row_run> alive;
};
}  // namespace

void discard_rows(rows_buffer memory, std::vector<row_run> alive) noexcept {
  std::size_t n = 0;
  for (const row_run& r : alive) n += r.n;
  scattered_rows rows(std::move(memory), std::move(alive));
  if (!runtime::slow_to_destroy(*rows.memory.type(), n)) return;
  try {
    detail::discard(std::make_shared<scattered_rows>(std::move(rows)));
  } catch (const std::bad_alloc&) {  // then they are destroyed here
  }
}

void rows_buffer::clear() {
  destroy_rows(type_, memory_.data(), n_);
  n_ = 0;
  heap_.clear();
}

void rows_buffer::reserve(std::size_t n) {
  if (n <= capacity_) return;
  runtime::buffer larger = pool_->allocate(runtime::buffer_pool::checked_bytes(n, type_->size));
  if (n_) relocate_rows(type_, larger.data(), memory_.data(), n_);
  memory_ = std::move(larger);
  capacity_ = n;
}

void* rows_buffer::extend(std::size_t n) {
  if (n_ + n > capacity_) {
    std::size_t next = capacity_ + capacity_ / 2;
    if (next < n_ + n) next = n_ + n;
    if (const std::size_t least = rows_a_batch(type_->size); next < least) next = least;
    reserve(next);
  }
  return at(n_);
}

void rows_buffer::append_rows(const void* rows, std::size_t n) {
  if (!n) return;
  if (type_->trivial) {
    copy_rows(type_, extend(n), rows, n);
    n_ += n;
    return;
  }
  extend(n);
  heap_steps steps(heap_charge::counts(*type_, *pool_));
  for (std::size_t done = 0; done < n;) {
    const std::size_t k = steps.next(n - done), before = heap_.bytes();
    copy_rows(type_, at(n_), bytes(rows) + done * type_->size, k);
    grow(k);
    steps.made(k, heap_.bytes() - before);
    done += k;
  }
}
void rows_buffer::take_rows(void* rows, std::size_t n) {
  if (!n) return;
  move_rows(type_, extend(n), rows, n);
  grow(n);
}
void rows_buffer::take_all(rows_buffer& from) {
  if (!from.n_) return;
  move_rows(type_, extend(from.n_), from.data(), from.n_);
  grow(from.n_, from.heap_);
}
void rows_buffer::append(const detail::row_block& b) {
  if (b.owned) take_rows(b.rows, b.n);
  else append_rows(b.rows, b.n);
}

namespace {
// Says of a table's owner that it is a rows_buffer.
struct table_rows {
  void operator()(rows_buffer* rows) const { delete rows; }
};
}  // namespace

void rows_buffer::take_table(const detail::table& from) {
  rows_buffer* const owner = owner_of(from);
  if (owner && owner->n_ == from.n) return take_all(*owner);
  if (owner) owner->heap_.clear();
  take_rows(const_cast<void*>(from.rows), from.n);
}

detail::table rows_buffer::to_table() && {
  detail::table t;
  t.rows = data();
  t.n = n_;
  t.type = type_;
  t.owner = std::unique_ptr<rows_buffer, table_rows>(std::make_unique<rows_buffer>(std::move(*this)).release());
  return t;
}

rows_buffer* rows_buffer::owner_of(const detail::table& t) {
  return std::get_deleter<table_rows>(t.owner) ? static_cast<rows_buffer*>(t.owner.get()) : nullptr;
}

}  // namespace query::cpu
