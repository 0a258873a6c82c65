// One run of one query: what every operator may use, and the tables computed so far.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include <query/broadcast.hpp>
#include <query/detail/execute.hpp>

#include "planner/machine_graph.hpp"
#include "runtime/buffer_pool.hpp"
#include "runtime/cancellation.hpp"
#include "runtime/progress.hpp"
#include "runtime/scheduler.hpp"

namespace query::runtime {

struct run_context {
  runtime::scheduler& scheduler;
  buffer_pool& pool;
  cancel_flag& cancel;
  runtime::progress* progress = nullptr;
  bool verify = false;
  std::unordered_map<const planner::vertex*, detail::table> tables{};    // results of vertices
  std::unordered_map<std::uint64_t, detail::table> variables{};          // loop variables by slot

  const detail::table& table_of(const planner::vertex& v) const;         // internal_error if it has not run
  const detail::table& variable(std::uint64_t slot) const;               // user_error: a placeholder outside its loop
  // The captured collections of a vertex, for detail::binding_scope around its tasks.
  std::vector<detail::binding> bind(const std::vector<planner::binding>& captures) const;
};

}  // namespace query::runtime
