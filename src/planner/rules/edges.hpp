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
  std::size_t stage = 0;     // of build
};

std::vector<edge> readers_of(machine_graph& g, const vertex& v);
// The only one; with kind loop if there are none or several, which no rule goes through.
edge only_reader(machine_graph& g, const vertex& v);

// The same from one look at the graph, for who asks about many vertices and changes no edge meanwhile.
class edge_index {
 public:
  explicit edge_index(machine_graph& g);
  const std::vector<edge>& readers_of(const vertex& v) const;
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
// One row out for each row in, counting tests that all rows of `from` pass as no filters.
bool keeps_count(const rewriting& r, const branch& b);

// Takes the verb of v away: v's rows become those of its only input. The reader streams that input itself, with v's stages
// before its own, or v stays to collect it (for a hash table, or once for all rounds of a loop).
void drop_verb(machine_graph& g, vertex& v, const edge& reader);

}  // namespace query::planner::rules
