// Queries that run again and again: what the engines reported, and whether the CPU alone is faster than the way that was chosen.
//
// Expectations of a tenth of a millisecond are off by more than that, and asking several engines costs tens of microseconds by itself. So a
// session remembers what whole queries took, from planning to the last row: where all of it stayed on the CPU twice, or went to the GPU
// twice, the next runs do not ask; where expectations were close, the CPU runs it four to twelve times, and the faster way has the next
// runs. Then all is asked again.
//
//   const auto q = recognised(pipe, fold, session);
//   const engine_choices::choice c = q ? session.history.ways.choose(*q) : engine_choices::choice{};
//   ...plan and run it...
//   if (q) session.history.ways.ran(*q, c.by, expected, seconds);
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include <query/detail/plan.hpp>

#include "planner/machine_graph.hpp"

namespace query::runtime {

class session_state;

// Which query it is, as far as its time goes: its verbs, the types of its functions, where its rows lie and how many they are. Values that
// functions capture are not part of it. Nothing where it may read other rows each time, or where somebody says where it runs: files,
// generators, captured queries, loops, apply(), on(), require_gpu(), cached() rows that nobody has computed yet.
std::optional<std::uint64_t> recognised(const detail::pipe& p, std::optional<detail::fold_kind> fold, session_state& session);

// What was expected of a plan for which engines were asked.
struct expected_way {
  bool elsewhere = false;  // something is not left to the CPU
  bool all_on_gpu = false;  // all that may be: by the session's GPU alone, in vertices that were not cut for it
  bool weighed = true;     // by seconds, all that is elsewhere: not divided among engines, nor demanded
  std::uint64_t shape = 0;  // planner::plan_shape, before vertices were placed
  double may_save = 0;     // seconds, by another engine that may take over from the CPU once its kernels are compiled
  double there = 0, cpu = 0;

  void add(bool on_cpu, const std::optional<planner::expected_seconds>& e) {
    if (on_cpu) {
      if (e) may_save += std::max(0.0, e->cpu - e->there);
      return;
    }
    elsewhere = true;
    weighed &= e.has_value();
    if (e) there += e->there, cpu += e->cpu;
  }
};
// Rows of a container as they lie: nobody computes them, whatever engine has the vertex.
bool lie_ready(const planner::vertex& v);
// Of all vertices that would run; rows that the reader computes are none.
expected_way expected_of(const planner::machine_graph& g, session_state& session);

// Thread-safe.
class engine_choices {
 public:
  enum class way : std::uint8_t { asked, cpu, gpu };
  struct choice {
    way by = way::asked;
    std::string why = {};  // where it proved to be faster: for explain()
    std::uint64_t shape = 0;  // of the GPU's: what is planned otherwise now is asked about
  };
  choice choose(std::uint64_t query);
  choice shown(std::uint64_t query) const;  // as the next run would choose, but for what says nothing: a run that would not ask
  void ran(std::uint64_t query, way by, const expected_way& expected, double seconds);
  void forget(std::uint64_t query);  // where the way that was chosen failed: the next runs are asked
  void forget_all();  // for measurements: the next runs are asked

  static constexpr int runs_to_know = 2;
  static constexpr int runs_until_asked_again = 64;        // at first; then twice as many each time, to a limit
  static constexpr double too_short_to_ask = 2e-3, worth_asking = 1e-4;  // seconds; to be saved
  static constexpr double short_enough_to_try = 20e-3, close = 2.5;  // expected of the CPU beside the way chosen

 private:
  struct seen {
    int asked = 0, gpu = 0, cpu = 0, since = 0, until = runs_until_asked_again, slow = 0;
    // Of the way that was chosen, asked or not; of the CPU.
    double chosen_least = std::numeric_limits<double>::infinity(), cpu_least = std::numeric_limits<double>::infinity();
    expected_way last;
  };
  static choice chosen(const seen& s);

  mutable std::mutex lock_;
  std::unordered_map<std::uint64_t, seen> all_;
};

}  // namespace query::runtime
