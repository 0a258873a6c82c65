#include "runtime/table_ports.hpp"

#include <query/detail/stop.hpp>

#include "runtime/long_lists.hpp"

namespace query::runtime {

namespace {
constexpr std::size_t rows_a_look = 1024;

struct owned_rows {
  const ir::type* type;
  buffer memory;
  std::size_t n = 0;
  ~owned_rows() {
    if (!type->trivial && n) destroy_rows_with_lists(*type, memory.data(), n);
  }
};
}  // namespace

vertex_rows table_output::take() && {
  if (!ended_) throw internal_error("query: a vertex ended without ending its stream");
  if (kept_) return vertex_rows(std::move(kept_));
  detail::table t;
  t.type = row_;
  if (blocks_.size() == 1 && blocks_.front().owner) {
    t.owner = blocks_.front().owner;
    t.rows = blocks_.front().rows.rows;
    t.n = blocks_.front().rows.n;
    return t;
  }
  auto all = std::make_shared<owned_rows>();
  all->type = row_;
  all->memory = pool_->allocate(buffer_pool::checked_bytes(rows_ ? rows_ : 1, row_->size));
  for (const block& b : blocks_) {
    if (!b.rows.n) continue;
    detail::in_runs<rows_a_look>(0, b.rows.n, [&](std::size_t i, std::size_t end) {
      void* to = all->memory.as<std::byte>() + all->n * row_->size;
      const auto* const from = static_cast<const std::byte*>(b.rows.rows) + i * row_->size;
      if (row_->trivial) std::memcpy(to, from, (end - i) * row_->size);
      else copy_rows_with_lists(*row_, to, from, end - i);
      all->n += end - i;
    });
  }
  t.rows = all->memory.data();
  t.n = all->n;
  t.owner = std::move(all);
  return t;
}

}  // namespace query::runtime
