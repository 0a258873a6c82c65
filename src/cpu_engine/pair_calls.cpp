#include "cpu_engine/pair_calls.hpp"

#include "cpu_engine/captured.hpp"

#include <algorithm>
#include <cstring>

#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

namespace {

struct reads {
  const ir::type* whole[2] = {};  // type of a node that is the whole row of a side
  bool any[2] = {};
  bool collections = false;
};
void find_reads(const ir::node* n, reads& r) {
  if (n->what == ir::op::collection) r.collections = true;
  if ((n->what == ir::op::row || n->what == ir::op::field) && n->id < 2) {
    r.any[n->id] = true;
    if (n->what == ir::op::row) r.whole[n->id] = n->type;
  }
  for (const ir::node* kid : n->kids) find_reads(kid, r);
}

}  // namespace

pair_calls::pair_calls(const detail::user_function& f, const ir::type* left, const ir::type* right, bool interpreted, runtime::buffer_pool& pool)
    : function_(&f), pool_(&pool) {
  if (!interpreted) return;
  expression_ = f.trace();
  if (!expression_ || expression_.root->type != f.result) return;
  reads r;
  find_reads(expression_.root, r);
  if (r.collections) return;
  const ir::type* sides[2] = {left, right};
  for (int s = 0; s < 2; ++s) {
    if (!r.any[s]) continue;
    seen_[s] = sides[s];
    if (r.whole[s] && r.whole[s] != sides[s]) {
      // The side may be missing: the function sees an optional of the row.
      if (r.whole[s]->k != ir::kind::optional || r.whole[s]->element != sides[s] || !r.whole[s]->get.emplace) return;
      if (!sides[s]->trivial && !sides[s]->life.copy_assign) return;
      seen_[s] = r.whole[s];
      optional_[s] = true;
    }
  }
  program_ = std::make_shared<const interpreter::program>(expression_.root);
}

const void* pair_calls::gather(int side, const void* const* rows, std::size_t n, scratch& s) const {
  const ir::type* t = seen_[side];
  if (!t) return nullptr;
  auto& memory = s.sides_[side];
  if (!memory) memory.emplace(t, *pool_);
  memory->clear();
  memory->reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (!optional_[side]) {
      memory->append_rows(rows[i], 1);
      continue;
    }
    void* at = memory->extend(1);
    t->life.construct(at, 1);
    memory->grow(1);
    if (!rows[i]) continue;
    void* value = t->get.emplace(at);
    if (t->element->trivial) std::memcpy(value, rows[i], t->element->size);
    else t->element->life.copy_assign(value, rows[i]);
  }
  return memory->data();
}

void pair_calls::map(const void* const* left, const void* const* right, std::size_t n, void* out, scratch& s) const {
  if (!program_) {
    function_->native.map_pairs(function_->f.get(), left, right, n, out);
    return;
  }
  const interpreter::binding rows[2] = {{gather(0, left, n, s), seen_[0] ? seen_[0]->size : 0, {}},
                                        {gather(1, right, n, s), seen_[1] ? seen_[1]->size : 0, {}}};
  const auto collections = captured_collections(function_);
  program_->run(rows, {collections, {}}, n, out, s.registers_);
}

}  // namespace query::cpu
