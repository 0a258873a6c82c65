// Folds of a query's rows: by the CPU, whose loops read the result, or as a vertex by the engines that it was placed on.
#include <optional>

#include <query/verbs/terminals.hpp>

#include "runtime/execution.hpp"
#include "runtime/executor.hpp"
#include "runtime/fold_states.hpp"
#include "runtime/terminal_plan.hpp"

namespace query::detail {

void fold(const pipe& rows, const settings& s, fold_kind k, fold_state& state) {
  const pipe p = k == fold_kind::count ? runtime::rows_to_count(rows) : rows;
  const char* const name = runtime::fold_names[static_cast<std::size_t>(k)];
  runtime::execution e(p, s, name, planner::reading::folded, k);
  const fold_state before = state;
  e.read([&] {
    state = before;
    const auto went_as_planned = [&] {
      e.session->history.note_pieces(p.node.get(), name, e.context.pieces->taken());
      e.session->history.note_fallback(p.node.get(), name, "");
    };
    if (const auto n = k == fold_kind::count ? e.rows_there() : std::nullopt) {
      state.count += *n;
      e.context.rows_read(*n);
      return went_as_planned();
    }
    if (e.graph->fold && e.graph->fold->engine != "cpu") {
      const runtime::vertex_rows states = e.leader->run_fold();
      e.fell_back |= e.leader->fell_back();
      for (const fold_state& part : runtime::states_in(states.rows)) e.session->cpu->merge(k, e.graph->result.row, state, part);
      return;
    }
    if (e.partitions) {
      e.partitions->fold(k, state);
      return went_as_planned();
    }
    const auto clock = e.clock("cpu", k);
    e.session->cpu->fold(e.graph->result, e.graph->captures, k, state, e.context);
  });
  e.gave(1);
  e.finished();
}

}  // namespace query::detail
