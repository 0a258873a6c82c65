// What runs find out for the plans to come: how many rows came out of the row-wise verbs over a source, and how long engines took for
// passes that could be divided among them.
//
// A query is often built anew for each run, so its functions' types and its rows' place in memory say whether it is the same one; values
// that functions capture do not. One memory for the process, of the last few thousand.
//
//   note_seen(branch, table.n, context);              // after a run that gave all rows
//   if (const auto a_row = seen_of(branch, i)) ...    // for each row of the source, behind stage i
//   {
//     pass_clock clock(&branch, "gpu", threads);
//     ...run it...
//   }
//   if (const auto s = seconds_seen(branch, "gpu", threads)) ...
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"

namespace query::runtime {

inline std::uint64_t size_of(const vertex_rows& r) { return r.here() ? r.rows.n : r.kept->size(); }

// `out`: rows, of all that the branch gives. Thread-safe.
void note_seen(const planner::branch& b, std::uint64_t out, const run_context& context);
std::optional<double> seen_of(const planner::branch& b, std::size_t stage);

// A pass over all rows of a branch (null: not one to remember), from now to its end, unless that comes by an exception. `way`: the engine,
// or "split" of several at once. `threads`: of the session.
class pass_clock {
 public:
  pass_clock(const planner::branch* b, std::string_view way, int threads, std::optional<detail::fold_kind> fold = {});
  ~pass_clock();
  pass_clock(const pass_clock&) = delete;
  pass_clock& operator=(const pass_clock&) = delete;
  void forget() { branch_ = nullptr; }  // it was not all of the pass

 private:
  const planner::branch* branch_;
  std::string_view way_;
  int threads_, failing_;
  std::optional<detail::fold_kind> fold_;
  std::chrono::steady_clock::time_point begin_;
};
// What divided passes took is forgotten after so many passes by one engine: the host may have been busy with other work.
inline constexpr int passes_until_tried_again = 64;
// The least of the last few such passes, if there were two: the first may have compiled kernels, or touched its memory first.
std::optional<double> seconds_seen(const planner::branch& b, std::string_view way, int threads, std::optional<detail::fold_kind> fold = {});

}  // namespace query::runtime
