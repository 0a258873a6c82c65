// The plan of a whole query: its machine graph, placed on engines, and who computes what its terminal verb reads.
//
//   const planned_query plan = plan_query(traces, pipe, settings, session, "sum", planner::reading::folded, fold_kind::sum, way);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "planner/machine_graph.hpp"
#include "planner/trace_memo.hpp"
#include "runtime/session_state.hpp"

namespace query::runtime {

inline constexpr const char* fold_names[] = {"count", "sum", "min", "max", "average"};

std::shared_ptr<session_state> session_of(const detail::settings& s);
bool verifies(const session_state& session, const detail::settings& s);

struct planned_query {
  std::unique_ptr<planner::machine_graph> graph;
  expected_way expected;
  engine_choices::way by = engine_choices::way::asked;  // how it came about
  compile_debts::of_plan saved;                    // by code that is to be compiled, if it runs
  std::shared_ptr<const cluster::prepared> sent;   // what other processes run of it; null: all is in this one
};

enum class plan_for : std::uint8_t { run, explain };  // explain() shows what a run refuses

// What an accelerated query computes last, row by row or as a fold, is part of the terminal unless the GPU takes it: then it is a vertex.
// `way`: whether engines are asked at all.
planned_query plan_query(planner::trace_memo& traces, const detail::pipe& p, const detail::settings& s, session_state& session,
                         const std::string& terminal, planner::reading how, std::optional<detail::fold_kind> fold,
                         const engine_choices::choice& way, plan_for what = plan_for::run);

// The query's name in session.history.ways; nothing where engines are asked each time.
std::optional<std::uint64_t> known_query(const detail::pipe& p, const detail::settings& s, session_state& session, planner::reading how,
                                         std::optional<detail::fold_kind> fold);

}  // namespace query::runtime
