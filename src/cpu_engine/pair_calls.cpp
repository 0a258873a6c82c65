#include "cpu_engine/pair_calls.hpp"

#include "cpu_engine/captured.hpp"

#include <algorithm>
#include <cstring>

#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

pair_calls::pair_calls(const detail::user_function& f, const ir::type* left, const ir::type* right, bool interpreted,
                       runtime::buffer_pool& pool)
    : function_(&f), pool_(&pool) {
  if (!interpreted) return;
  how_ = planner::interpret_pair(f, left, right);
  if (how_) program_ = std::make_shared<const interpreter::program>(how_.expression.root);
}

// The rows of a side as the expression sees them: where they lie, but optionals are made here.
interpreter::binding pair_calls::side(int number, const void* const* rows, std::size_t n, scratch& s) const {
  interpreter::binding b;
  const ir::type* t = how_.seen[number];
  if (!t) return b;
  if (!how_.optional[number]) {
    b.pointers = rows;
    return b;
  }
  auto& memory = s.optionals_[number];
  if (!memory) memory.emplace(t, *pool_);
  memory->clear();
  memory->reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    void* at = memory->extend(1);
    t->life.construct(at, 1);
    memory->grow(1);
    if (!rows[i]) continue;
    void* value = t->get.emplace(at);
    if (t->element->trivial) std::memcpy(value, rows[i], t->element->size);
    else t->element->life.copy_assign(value, rows[i]);
  }
  b.base = memory->data();
  b.stride = t->size;
  return b;
}

void pair_calls::map(const void* const* left, const void* const* right, std::size_t n, void* out, scratch& s) const {
  if (!program_) {
    function_->native.map_pairs(function_->f.get(), left, right, n, out);
    return;
  }
  const interpreter::binding rows[2] = {side(0, left, n, s), side(1, right, n, s)};
  const auto collections = captured_collections(how_.captures);
  program_->run(rows, {collections, {}}, n, out, s.registers_);
}

}  // namespace query::cpu
