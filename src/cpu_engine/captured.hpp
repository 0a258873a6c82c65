// The collections that an interpreted function captured, as the interpreter takes them.
#pragma once

#include <vector>

#include <query/broadcast.hpp>

#include "cpu_engine/interpreter.hpp"
#include "planner/interpretation.hpp"

namespace query::cpu {

// As bound on this thread.
inline std::vector<interpreter::collection> captured_collections(const planner::captured& captures) {
  std::vector<interpreter::collection> all;
  for (const auto& c : captures) {
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
