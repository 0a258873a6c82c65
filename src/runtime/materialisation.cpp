#include "runtime/materialisation.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <unordered_set>

namespace query::runtime {

using planner::vertex;

// The join that collects such rows itself can put them apart where memory has no room for them (cpu_engine/large_join.hpp).
void leave_to_joins(const planner::machine_graph& graph, run_context& context) {
  context.left_to_joins.clear();
  context.joined_apart.clear();
  const auto collects_rows = [](const vertex* v) { return !v->node && !v->in_place && !v->moves; };
  if (!context.pool.limit() || !context.temp || context.verify) return;
  if (std::none_of(graph.top.begin(), graph.top.end(), collects_rows)) return;
  std::unordered_map<const vertex*, int> read;  // how often; as such a build side, or otherwise, which counts twice
  const auto otherwise = [&](const vertex* v) { read[v] += 2; };
  const auto see_branch = [&](const planner::branch& b, bool collects) {
    if (b.table) otherwise(b.table);
    for (const planner::stage& s : b.stages)
      if (s.build) read[s.build] += collects ? 1 : 2;
  };
  const std::unordered_set<const vertex*> top(graph.top.begin(), graph.top.end());
  for (const auto& v : graph.vertices) {
    // One that rounds of a loop read again would join again.
    const bool collects = top.contains(v.get()) && v->engine == "cpu" && v->shares.empty() && !v->kept_if_it_fits;
    for (const planner::branch& b : v->inputs) see_branch(b, collects);
    for (const planner::binding& c : v->captures) otherwise(c.table);
    see_branch(v->body_result, false);
    see_branch(v->test_result, false);
    for (const vertex* kept : v->kept_for_rounds) otherwise(kept);
  }
  see_branch(graph.result, graph.result_engine == "cpu");
  for (const planner::binding& c : graph.captures) otherwise(c.table);
  // The pipeline of one that reads others is within theirs: joins of joins would take as much stack as the query has of them.
  constexpr int most_within = 8;
  std::unordered_map<const vertex*, int> within;
  const auto depth = [&](const vertex& v) {
    int most = 0;
    for (const planner::stage& s : v.inputs[0].stages)
      if (const auto found = within.find(s.build); found != within.end()) most = std::max(most, found->second);
    return most + 1;
  };
  for (const vertex* v : graph.top)  // inputs first
    if (collects_rows(v) && v->engine == "cpu" && v->shares.empty() && !v->streamed && !v->kept_if_it_fits && v->limit == ~0ull &&
        v->inputs.size() == 1 && v->slots.empty() && read[v] == 1)
      if (const int now = depth(*v); now <= most_within) {
        within.emplace(v, now);
        context.left_to_joins.insert(v);
      }
}

// Decided before anything is computed, as functions and generators of the user's run once.
bool left_to_reader(const vertex& v, session_state& session, run_context& context) {
  const std::size_t limit = context.pool.limit();
  if (!v.may_stream || !limit || context.verify) return false;
  context.too_large.erase(&v);
  const std::size_t room = limit - std::min(context.pool.used(), limit);
  const auto most = session.cpu->most_table_bytes(v, context);
  const bool too_large = most && 1.2 * static_cast<double>(*most) > static_cast<double>(room);  // buffers come in classes of size
  if (too_large) context.too_large.insert(&v);
  if (const detail::logical* verb = verb_of_pieces(v))
    session.history.note_pieces(verb, "", too_large ? "handed on row by row, as memory had no room for a table" : "");
  return too_large;
}

}  // namespace query::runtime
