// What a session remembers of its runs: the ways that whole queries went and how long they took, what the last runs did vertex by vertex,
// and what became of vertices that did not run as planned. Verbs are known by weak pointers: it keeps none alive. All sessions of the
// process share what runs found out about branches: how many rows came out of the row-wise verbs, and how long engines took for passes
// that could be divided among them. A query is often built anew for each run, so its functions' types and its rows' place in memory say
// whether it is the same one; values that functions capture do not. The last few thousand are known.
//
//   session.history.note_fallback(verb, "sum", "no memory");
//   session.history.fallback_of(verb, "sum")                     // for explain()
//   note_selectivity(branch, table.n, context);                  // after a run that gave all rows
//   if (const auto a_row = selectivity_of(branch, i)) ...        // behind stage i
//   {
//     pass_clock clock(&branch, "gpu", threads);
//     ...run it...
//   }
//   if (const auto s = pass_seconds(branch, "gpu", threads)) ...
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/compile_debts.hpp"
#include "runtime/engine_choices.hpp"
#include "runtime/kept_profiles.hpp"

namespace query::runtime {

struct run_context;

// Thread-safe.
class run_history {
 public:
  engine_choices ways;
  compile_debts debts;
  kept_profiles profiles;      // what the last runs did
  bool keeps_profiles = true;  // off: nobody counts

  // Why a verb's vertex, or the fold behind it, was planned for an engine and ran on the CPU the last time; empty: it did not.
  // explain() shows it.
  void note_fallback(const detail::logical* n, std::string_view terminal, std::string why);
  std::string fallback_of(const detail::logical* n, std::string_view terminal) const;
  // In how many pieces it ran the last time, if not in one, in the same way.
  void note_pieces(const detail::logical* n, std::string_view terminal, std::string pieces);
  std::string pieces_of(const detail::logical* n, std::string_view terminal) const;
  // How often a fallback happened in this session, and why the last time.
  std::pair<std::uint64_t, std::string> fallbacks() const;

 private:
  struct note {
    std::weak_ptr<const detail::logical> node;
    std::string terminal, text;
  };
  using notes = std::vector<note>;  // few, and of living verbs
  static void put(notes& to, const detail::logical* n, std::string_view terminal, std::string text);
  static std::string text_of(const notes& in, const detail::logical* n, std::string_view terminal);

  mutable std::mutex lock_;
  notes fallbacks_, pieces_;
  std::pair<std::uint64_t, std::string> all_fallbacks_;
};

// `out` counts all rows that the branch gave. selectivity_of: how many rows come out of a stage for each row of the source. Thread-safe.
void note_selectivity(const planner::branch& b, std::uint64_t out, const run_context& context);
std::optional<double> selectivity_of(const planner::branch& b, std::size_t stage);

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
std::optional<double> pass_seconds(const planner::branch& b, std::string_view way, int threads,
                                   std::optional<detail::fold_kind> fold = {});

}  // namespace query::runtime
