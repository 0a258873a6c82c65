// A vertex whose rows several engines run at once: each takes rows of the source as it gets ready for more
// (shared_rows.hpp), and what they give is put together in the order of the source.
//
// Only rows of containers in this process's memory are divided, and only work that looks at each by itself: where and select of
// values that own no memory, and folds. What an engine that fails has not done is run by the CPU engine; whatever else is
// thrown stops all of them.
//
//   if (const auto d = divided_among(v, offers, threads)) { v.shares = d->shares; v.engine = "split"; v.why = d->why; }
//   vertex_rows rows = run_divided(v, session, context, failed);
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "planner/machine_graph.hpp"
#include "runtime/engine.hpp"
#include "runtime/session_state.hpp"

namespace query::runtime {

bool divisible(const planner::branch& b);
bool divisible(const planner::vertex& v);

// An engine that could run all of it.
struct offer {
  const engine* by = nullptr;
  part_costs costs;
};
struct divided {
  std::vector<planner::engine_share> shares;  // the last is the CPU's
  std::string why;                            // "about 61% gpu: NVIDIA H200, 39% cpu: 12 ms here; 18 ms and 29 ms alone"
};
// No shares where one of them alone is expected to be about as fast, or was seen to be faster (run_history.hpp); of the latter `why` tells.
// `v` is divisible.
divided divided_among(const planner::vertex& v, std::span<const offer> offers, int threads);

// `failed` tells why engines left their rows to the CPU; empty if none did. Throws resource_error where parts and their union do not
// fit the session's memory together: the CPU alone may need less.
vertex_rows run_divided(const planner::vertex& v, session_state& session, run_context& context, std::string& failed);

}  // namespace query::runtime
