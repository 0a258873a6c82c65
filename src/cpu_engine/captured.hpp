// The collections that an interpreted function captured, as the interpreter takes them.
#pragma once

#include <vector>

#include <query/broadcast.hpp>
#include <query/detail/plan.hpp>

#include "cpu_engine/interpreter.hpp"
#include "ir/analysis.hpp"

namespace query::cpu {

// Does the function know all collections that its expression names? Those captured by reference are known to native code alone.
inline bool knows_captures(const detail::user_function& f, const ir::node* root) {
  for (const std::uint64_t slot : ir::captures(root)) {
    bool known = false;
    for (const auto& c : f.captures) known = known || c->slot == slot;
    if (!known) return false;
  }
  return true;
}

// As bound on this thread.
inline std::vector<interpreter::collection> captured_collections(const detail::user_function* f) {
  std::vector<interpreter::collection> all;
  if (!f) return all;
  for (const auto& c : f->captures) {
    const detail::bound b = detail::lookup(*c);
    interpreter::collection x;
    x.slot = c->slot;
    x.data = b.data;
    x.size = b.size;
    all.push_back(x);
  }
  return all;
}

}  // namespace query::cpu
