#include "cpu_engine/heap_charge.hpp"

#include <algorithm>

#include "cpu_engine/value_bytes.hpp"

namespace query::cpu {

bool heap_charge::counts(const ir::type& t, const runtime::buffer_pool& pool) { return !t.trivial && pool.limit() && owns_heap(t); }

void heap_charge::add(const ir::type& t, const void* rows, std::size_t n, const runtime::buffer_pool& pool) {
  if (t.trivial || !pool.limit()) return;
  bytes_ += heap_bytes(t, rows, n);
  charge_all(pool);
}

void heap_charge::charge_all(const runtime::buffer_pool& pool) {
  if (bytes_ > charged_.bytes() + step) charged_.grow(pool, bytes_ - charged_.bytes());
}

void heap_steps::made(std::size_t rows, std::size_t bytes) {
  const std::size_t a_row = bytes / std::max<std::size_t>(rows, 1) + 1;
  rows_ = std::clamp<std::size_t>(most_bytes / a_row, 1, std::min(2 * rows_, most_rows));
}

}  // namespace query::cpu
