// What the last run of a query did, vertex by vertex: rows, time, how busy the threads were, memory, temporary files.
//
//   auto q = query::from(trades).group_by([](auto t) { return t.symbol; }, [](auto g) { return g.sum(...); });
//   auto sums = q.to_vector();
//   for (const query::vertex_profile& v : query::profile(q).vertices) std::cout << v.name << ": " << v.seconds << " s\n";
//
// explain() of the same query shows the same in words. Not part of query/query.hpp: include it where a program reads profiles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <query/detail/plan.hpp>
#include <query/session.hpp>

namespace query {

// One vertex of the machine graph, as explain() names it. Vertices of a loop are summed up over its rounds.
struct vertex_profile {
  std::string name;                  // "v3 group_by"; "result"
  std::string engine;                // that ran it: "cpu", "gpu", "split", ...
  std::uint64_t rows_in = 0;         // that it read, without those of hash tables that it probes
  std::uint64_t rows_out = 0;
  std::uint64_t bytes_out = 0;       // of these rows, without what their strings and lists own
  double seconds = 0;                // wall time, without that of vertices whose rows it takes as they come
  double busy_seconds = 0;           // of all threads together, inside morsels
  int threads = 1;                   // that it could use
  std::uint64_t morsels = 0;         // tasks, each run by one thread
  std::uint64_t peak_bytes = 0;      // the most memory that the session had in use meanwhile, other queries' included
  std::uint64_t spilled_bytes = 0;   // written to temporary files
  std::uint64_t rounds = 0;          // of a loop

  // The part of the threads' time that was spent inside morsels: 0 to 1. Below 0.9, look for work that one thread does alone.
  double busy_share() const {
    const double most = seconds * threads, share = most > 0 ? busy_seconds / most : 0;
    return share < 1 ? share : 1;
  }
};

struct run_profile {
  std::vector<vertex_profile> vertices;  // those that ran, in the order of explain(); the last one is the result
  // The sum of the run, planning included. rows_in counts rows of sources; rows_out and bytes_out are the result's; peak_bytes is the
  // highest peak.
  vertex_profile total;
  bool empty() const { return vertices.empty(); }
};

namespace detail {
run_profile profile_of(const pipe& p, const settings& s);
}

// The last run of this query object in its session, by whatever terminal verb, also one that ended with an exception. Empty before the
// first run, and after many runs of other queries. Of runs side by side, that which ended last.
template <class Q>
  requires requires(const Q& q) { q.to_pipe(), q.run_settings(); }
run_profile profile(const Q& q) {
  return detail::profile_of(q.to_pipe(), q.run_settings());
}

}  // namespace query
