// One execution of one plan, with its tables: what every terminal verb begins with.
//
//   execution e(pipe, settings, "rows", planner::reading::in_order);
//   e.read([&] { ... });      // vertices have run; again where an engine was lost with rows
//   e.finished();
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <query/detail/division_watch.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "planner/trace_memo.hpp"
#include "runtime/deadline_watch.hpp"
#include "runtime/engine_failure.hpp"
#include "runtime/executor.hpp"
#include "runtime/part_done.hpp"
#include "runtime/partitions.hpp"
#include "runtime/planned_query.hpp"
#include "runtime/progress.hpp"
#include "runtime/run_context.hpp"
#include "runtime/run_profile.hpp"
#include "runtime/run_history.hpp"
#include "runtime/engine_choices.hpp"
#include "runtime/session_state.hpp"
#include "runtime/stop_watch.hpp"
#include "runtime/tick_clock.hpp"

namespace query::runtime {

class execution {
 public:
  // `reader`: the terminal verb that reads the rows, where it is known: what is stopped outside of the vertices is stopped there.
  // `as_they_come`: the reader takes rows in order, and does without their number; where partitions make them, see next_rows().
  // `begins`: the vertices run at once; else when rows are read first, and the plan may be changed until then.
  execution(const detail::pipe& p, const detail::settings& s, const std::string& terminal, planner::reading how,
            std::optional<detail::fold_kind> fold = {}, const char* reader = nullptr, detail::call_site where = {},
            bool as_they_come = false, bool begins = true);
  ~execution();

  // Runs a part of the query; what no verb has put its name to is the last one's.
  template <class F> decltype(auto) placed(F&& f) {
    const detail::stop_scope scope(watch.flag->state());
    const planner::trace_memo::scope traced(traces);
    try {
      const detail::division_watch watch;
      if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
        f();
        watch.check();
      } else {
        decltype(auto) given = f();
        watch.check();
        return given;
      }
    } catch (const detail::unplaced_error& e) {
      detail::fail_at(e, *last);
    } catch (const unplaced_cancelled& e) {
      fail_at(e, terminal_, where_);
    }
  }

  // f reads what the vertices gave. Where an engine is lost with rows that it alone had, all of them run again on the CPU, and so does f,
  // unless it has handed something out.
  template <class F> std::invoke_result_t<F&> read(F&& f, const bool& handed_out = nothing_handed_out) {
    for (int again = 2;; --again) {
      try {
        return placed([&]() -> std::invoke_result_t<F&> {
          run_vertices();
          const profiled_run::scope now = serves();
          return f();
        });
      } catch (const rows_lost& lost) {
        if (again == 0 || handed_out || !runs_again(lost)) named(lost);
      }
    }
  }
  static constexpr bool nothing_handed_out = false;

  // All of the result is there.
  void finished();

  // Partitions hand their rows on: the result is what it is of each of the tables that next_rows() brings, one after the other.
  bool hands_on() const { return hands_on_; }
  bool next_rows() { return partitions->next_rows(); }

  // How many rows the result has, where they are a table as it is: nobody reads them for that, wherever they lie.
  std::optional<std::uint64_t> rows_there() const;

  // Of a pass that may be divided, for the plans to come.
  pass_clock clock(std::string_view way, std::optional<detail::fold_kind> fold = {}) const;

  std::shared_ptr<const detail::logical> last;  // verb of the plan

 private:
  const std::string terminal_;
  const detail::call_site where_;

 public:
  std::shared_ptr<session_state> session;
  stop_watch watch;
  std::unique_ptr<deadline_watch::watched> watched;
  progress meter;
  planner::trace_memo traces;

 private:
  progress_beat beat_;
  const std::uint64_t begin_ = ticks();
  const std::optional<std::uint64_t> query_;
  const engine_choices::choice way_;

 public:
  planned_query plan;
  bool fell_back = false;  // the CPU has taken over something
  planner::machine_graph* graph;

 private:
  measured_scheduler threads_;

 public:
  run_context context;
  std::unique_ptr<runtime::partitions> partitions;  // null: there is one
  std::unique_ptr<executor> leader;           // of the last run; partitions ask it as long as rows are read
  // What the terminal verb made of the rows; its engine, if another than the plan says.
  void gave(std::uint64_t rows) const;
  void ran_on(std::string_view engine) const;
  // While it lives, time is the terminal verb's.
  profiled_run::scope serves() const {
    profiled_run* const run = serving_ ? context.profile.get() : nullptr;
    return {run, run ? run->result() : profiled_run::nobody};
  }
  // Time is the reader's, until it comes back for more rows.
  void pause() const {
    if (context.profile) context.profile->enter(profiled_run::nobody);
  }

 private:
  // Leaves the profile with the session, also where an exception ends the run.
  struct kept_profile {
    ~kept_profile();
    execution& of;
  } kept_profile_{*this};
  // No work begins after a stop.
  std::unique_ptr<deadline_watch::watched> followed(const detail::settings& s);
  void run_vertices();
  bool runs_again(const rows_lost& lost);
  // Vertices have named their verb; the rows of the last one are read here.
  [[noreturn]] void named(const rows_lost& lost) const;
  bool have_run_ = false, serving_ = false, hands_on_ = false;
  const bool as_they_come_;
};

}  // namespace query::runtime
