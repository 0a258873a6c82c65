#include "runtime/dataflow/block_pool.hpp"

#include <algorithm>
#include <bit>

namespace query::runtime {

struct block_pool::pooled : detail::flow_block {
  buffer memory;
  std::size_t list = 0;
  pooled* next = nullptr;            // while idle
  std::shared_ptr<block_pool> home;  // while in use
};

block_pool::~block_pool() {
  for (pooled* b : idle_) {
    while (b) delete std::exchange(b, b->next);
  }
}

detail::flow_rows block_pool::fresh(const ir::type* row, std::size_t rows) {
  const std::size_t bytes = std::max<std::size_t>(buffer_pool::checked_bytes(rows, row->size), 64);
  if (bytes > std::size_t{1} << 62) throw resource_error("dataflow: a block of so many bytes: " + std::to_string(bytes));
  const std::size_t list = static_cast<std::size_t>(std::bit_width(bytes - 1));
  pooled* found = nullptr;
  {
    const std::lock_guard hold(lock_);
    if ((found = idle_[list])) {
      idle_[list] = found->next;
      ++counted_.reused;
    }
  }
  if (!found) {
    auto made = std::make_unique<pooled>();
    made->memory = session_->pool.allocate(std::size_t{1} << list);
    made->list = list;
    made->give_back = &give_back;
    found = made.release();
    const std::lock_guard hold(lock_);
    ++counted_.made;
  }
  found->row = row;
  found->rows = found->memory.data();
  found->n = 0;
  found->room = rows;
  found->holders.store(1, std::memory_order_relaxed);
  found->home = shared_from_this();
  return detail::flow_rows(found);
}

void block_pool::give_back(detail::flow_block* b) noexcept {
  auto* back = static_cast<pooled*>(b);
  if (!back->row->trivial && back->n) back->row->life.destroy(back->rows, back->n);
  const std::shared_ptr<block_pool> home = std::move(back->home);  // may be the last that knows the pool
  const std::lock_guard hold(home->lock_);
  back->next = home->idle_[back->list];
  home->idle_[back->list] = back;
}

block_pool::counters block_pool::counted() const {
  const std::lock_guard hold(lock_);
  return counted_;
}

}  // namespace query::runtime

namespace query::detail {

namespace {
void drop(flow_block* b) noexcept { delete b; }
}  // namespace

flow_rows adopt(const ir::type* row, void* rows, std::size_t n, std::shared_ptr<void> owner) {
  auto b = std::make_unique<flow_block>();
  b->row = row;
  b->rows = rows;
  b->n = b->room = n;
  b->owner = std::move(owner);
  b->give_back = &drop;
  return flow_rows(b.release());
}

}  // namespace query::detail
