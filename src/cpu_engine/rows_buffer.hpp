// Rows of one run-time type in memory of the session's pool: what operators collect into and tables own.
//
//   rows_buffer rows(type, pool);
//   rows.append(block);            // copies, or moves from an owned block
//   detail::table t = std::move(rows).to_table();
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include <query/detail/plan.hpp>

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
  // Raw memory for n more rows; the caller constructs them and then calls grow(n).
  void* extend(std::size_t n);
  void grow(std::size_t n) { n_ += n; }
  void append(const detail::row_block& b);
  void append_rows(const void* rows, std::size_t n);  // copies
  void take_rows(void* rows, std::size_t n);          // moves from living rows
  void clear();

  detail::table to_table() &&;

 private:
  const ir::type* type_;
  runtime::buffer_pool* pool_;
  runtime::buffer memory_;
  std::size_t n_ = 0, capacity_ = 0;
};

// Runs of living rows in the memory of a buffer whose own rows are none: what tasks had made when one of them threw. They are destroyed,
// by another thread where they are many and own memory only (query/detail/discard.hpp).
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
