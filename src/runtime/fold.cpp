// Folds of a query's rows: by an engine, by several at once, or by the CPU, which takes over from them.
#include <exception>
#include <optional>
#include <string>

#include <query/errors.hpp>
#include <query/verbs/terminals.hpp>

#include "planner/interpretation.hpp"
#include "runtime/divided_vertex.hpp"
#include "runtime/execution.hpp"
#include "runtime/executor.hpp"
#include "runtime/source_rows.hpp"
#include "runtime/terminal_plan.hpp"

namespace query::detail {

void fold(const pipe& p, const settings& s, fold_kind k, fold_state& state) {
  runtime::execution e(p, s, runtime::fold_names[static_cast<std::size_t>(k)], planner::reading::folded, k);
  const fold_state before = state;
  e.read([&] {
    state = before;
    const auto note = [&](std::string why) {
      const std::string pieces = e.context.pieces->taken();
      e.session->history.note_pieces(p.node.get(), runtime::fold_names[static_cast<std::size_t>(k)], why.empty() ? pieces : "");
      e.session->history.note_fallback(p.node.get(), runtime::fold_names[static_cast<std::size_t>(k)], std::move(why));
    };
    if (const auto n = k == fold_kind::count ? e.rows_there() : std::nullopt) {
      state.count += *n;
      e.context.rows_read(*n);
      note("");
      return;
    }
    std::exception_ptr row_unknown;  // what an engine found wrong; the CPU says in which row
    if (!e.plan.fold_shares.empty()) {
      try {
        std::string trouble;
        const auto clock = e.clock("split", k);
        runtime::fold_divided(e.graph->result, e.plan.fold_shares, e.graph->captures, k, state, *e.session, e.context, trouble);
        note(std::move(trouble));
        e.ran_on("split");
        e.context.rows_read(runtime::rows_into(e.graph->result, e.context));
        return;
      } catch (const runtime::row_unknown&) {
        row_unknown = std::current_exception();
      }
    }
    const struct until_it_is_folded {
      runtime::begun_streams& begun;
      int branch;
      ~until_it_is_folded() { begun.forget(branch); }
    } begun_stream_of{e.context.begun, e.graph->result.number};
    std::string why;
    std::optional<fold_state> part;  // of the rows that cannot be read again
    if (e.plan.folds) {
      // As for vertices: the CPU takes over. The state is changed at the end only.
      try {
        {
          const auto clock = e.clock(e.plan.folds->name(), k);
          e.plan.folds->fold(e.graph->result, e.graph->captures, k, state, e.context);
        }
        note("");
        e.ran_on(e.plan.folds->name());
        e.context.rows_read(runtime::rows_into(e.graph->result, e.context));
        return;
      } catch (const runtime::row_unknown&) {
        row_unknown = std::current_exception();
      } catch (const resource_error& trouble) {
        why = trouble.what();
        if (const auto* done = dynamic_cast<const runtime::folded_in_part*>(&trouble)) part = done->state;
        e.context.cancel.check();
        runtime::rethrow_if_gpu_demanded(e.graph->result);
      } catch (const internal_error& trouble) {
        why = trouble.what();
        e.context.cancel.check();
        runtime::rethrow_if_gpu_demanded(e.graph->result);
      }
      if (!row_unknown) note(why);
    }
    if (e.plan.folds || row_unknown) {
      planner::check_traps(e.graph->result);
      e.fell_back = true;
    }
    if (e.partitions) {
      e.partitions->fold(k, state);
      return note("");
    }
    const auto fold_here = [&] {
      const auto clock = e.clock("cpu", k);
      fold_state rest = part ? fold_state{} : state;
      e.session->cpu->fold(e.graph->result, e.graph->captures, k, rest, e.context);
      if (part) e.session->cpu->merge(k, e.graph->result.row, *part, rest);
      state = part ? *part : rest;
    };
    try {
      runtime::taken_over(why, fold_here);
    } catch (const resource_error&) {
      if (row_unknown) std::rethrow_exception(row_unknown);
      throw;
    }
  });
  e.gave(1);
  e.finished();
}

}  // namespace query::detail
