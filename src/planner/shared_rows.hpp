// Row-wise verbs that several queries of one run (query::run_all) grew from, and whose rows are made once.
//
// Where all functions up to such a verb trace, each query computes its rows anew, in a loop of its own: that takes less time than a
// table of them, which would have to be written and read. An opaque function may take any time, and may do more than compute: it is
// called once for each row. Rows of a source that may have no end are no table, unless all of them are wanted (query::report).
//
//   const shared_rows shared(root);
//   if (const logical* n = shared.last_of(pipe)) ...   // begin with the table of n's rows
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "planner/machine_graph.hpp"

namespace query::planner {

class shared_rows {
 public:
  // None, if the plan is that of a single query.
  explicit shared_rows(const logical& root);

  // The last of the verbs of p's loop whose rows are shared, if what comes behind it in the loop can be run without it; null: none.
  const logical* last_of(const pipe& p) const;
  // A loop that ends with that verb; where there is none, p's, which is then to be cut.
  const pipe& loop_of(const logical& n, const pipe& p) const;

 private:
  void visit(const pipe& p, const logical* reader);

  std::unordered_map<const logical*, std::unordered_set<const logical*>> readers_;
  std::unordered_map<const logical*, const pipe*> loops_;
  std::unordered_set<const logical*> shared_;
  std::vector<const logical*> open_;
};

}  // namespace query::planner
