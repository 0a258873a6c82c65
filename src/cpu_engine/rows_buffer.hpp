// Rows of one run-time type in memory of the session's pool: what operators collect into and tables own. What rows own on the heap counts,
// too, if the session has a limit (heap_charge.hpp).
//
//   rows_buffer rows(type, pool);
//   rows.append(block);            // copies, or moves from an owned block
//   detail::table t = std::move(rows).to_table();
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <query/detail/plan.hpp>

#include "cpu_engine/heap_charge.hpp"
#include "runtime/buffer_pool.hpp"

namespace query::cpu {

class rows_buffer {
 public:
  rows_buffer(const ir::type* t, runtime::buffer_pool& pool) : type_(t), pool_(&pool) {}
  rows_buffer(rows_buffer&& o) noexcept;
  rows_buffer& operator=(rows_buffer&& o) noexcept;
  ~rows_buffer();

  const ir::type* type() const { return type_; }
  std::size_t size() const { return n_; }
  void* data() const { return memory_.data(); }
  void* at(std::size_t i) const { return memory_.as<std::byte>() + i * type_->size; }

  void reserve(std::size_t n);
  // Raw memory for n more rows; the caller constructs them and then calls grow(n), which may throw resource_error: they are alive then.
  void* extend(std::size_t n);
  void grow(std::size_t n) {
    n_ += n;
    if (!type_->trivial) heap_.add(*type_, at(n_ - n), n, *pool_);
  }
  // Rows that have been counted, such as those that moved here.
  void grow(std::size_t n, heap_charge& counted) noexcept {
    n_ += n;
    heap_.take(counted);
  }
  void append(const detail::row_block& b);
  void append_rows(const void* rows, std::size_t n);  // copies
  void take_rows(void* rows, std::size_t n);          // moves from living rows
  // All rows of another buffer; these stay alive there, and own nothing any more.
  void take_all(rows_buffer& from);
  void take_table(const detail::table& from);  // the same of a table that nobody else reads
  void clear();

  heap_charge& heap() { return heap_; }
  const heap_charge& heap() const { return heap_; }
  detail::table to_table() &&;
  // What owns the rows of a table, if to_table() made it; null: something else does.
  static rows_buffer* owner_of(const detail::table& t);

 private:
  const ir::type* type_;
  runtime::buffer_pool* pool_;
  runtime::buffer memory_;
  std::size_t n_ = 0, capacity_ = 0;
  heap_charge heap_;
};

// Runs of living rows in the memory of a buffer whose own rows are none, though it may hold their charge: what tasks had made when one of
// them threw. They are destroyed, by another thread where they are many and own memory only (query/detail/discard.hpp).
struct row_run {
  std::size_t first = 0, n = 0;
};
void discard_rows(rows_buffer memory, std::vector<row_run> alive) noexcept;

// The language of copying and destroying runs of rows, by type.
void copy_rows(const ir::type* t, void* to, const void* from, std::size_t n);
void move_rows(const ir::type* t, void* to, void* from, std::size_t n);  // `from` stays alive
void relocate_rows(const ir::type* t, void* to, void* from, std::size_t n);
void destroy_rows(const ir::type* t, void* at, std::size_t n);

// Rows by number: to[i] = from[rows[i]]. Looks whether the query should stop; all rows come alive or none.
template <class Id> void gather_rows(const ir::type* t, void* to, const void* from, const Id* rows, std::size_t n);

}  // namespace query::cpu
