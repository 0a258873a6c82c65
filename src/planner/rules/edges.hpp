// Who reads which table: the edges of a machine graph from the other end, and taking a vertex out of its edge.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "planner/rules/rule.hpp"

namespace query::planner::rules {

// A reader of a table.
struct edge {
  enum class kind : std::uint8_t {
    rows,     // a branch streams it
    build,    // a probe stage's hash table is made of it
    capture,  // functions look into it, by position too
    loop,     // it is what a round of a loop gives
  } how = kind::rows;
  vertex* reader = nullptr;  // null: the query's result
  branch* through = nullptr; // of rows and build
  const logical* join = nullptr;  // of build
  bool build_left = false;        // of build
};

// The readers of all tables, from one look at the graph.
class edge_index {
 public:
  explicit edge_index(machine_graph& g);
  const std::vector<edge>& readers_of(const vertex& v) const;
  // The only one; with kind loop if there are none or several, which no rule goes through.
  edge only_reader(const vertex& v) const;

 private:
  std::unordered_map<const vertex*, std::vector<edge>> readers_;
};

// Calls f for each branch that streams rows, with the vertex that reads it (null: the query's result).
void each_branch(machine_graph& g, const std::function<void(branch&, vertex*)>& f);

// Every row-wise verb of the stage keeps the rows as they are, or drops them.
bool only_filters(const stage& s);
// Does a function of the branch take the row's number?
bool numbers_rows(const branch& b);
// May the rows of v's only input flow into its reader, without a table between them?
bool can_bypass(const vertex& v, const edge& reader);
// Adds the collections that are not among them yet.
void add_captures(std::vector<binding>& to, const std::vector<binding>& from);
// One row out for each row in, counting tests that all rows of `from` pass as no filters.
bool keeps_count(const rewriting& r, const branch& b);

// Takes the verb of v away: v's rows become those of its only input. The reader streams that input itself, with v's stages
// before its own, or v stays to collect it (for a hash table, or once for all rounds of a loop).
void drop_verb(rewriting& r, vertex& v, const edge& reader);
// Vertices whose rows their readers stream themselves stay in the graph until the rule has gone through it: so the edges of others,
// from one look, stay as they are, and thousands of vertices go at once. A rule drops inputs before what reads them.
void remove_dropped(rewriting& r);

}  // namespace query::planner::rules
