// Where the variable of a loop lies between its rounds: in the first partition, or, where it is large, in all of them.
//
// A variable in partitions stays where a round has made it. A join, a group_by or a set of the body may want it by the hash of a key. If
// the rows of a round lie by that key, the first rows are sent there once, and rounds move none of the variable: PageRank sends
// contributions, and its ranks stay. The first partition has the variable if functions look into all of its rows, as those of k-means do
// into its centers, or if a verb wants them in one place.
//
//   loop_partitions loops(g, options);     // those whose variable may lie in partitions
//   loops.choose_key(v, g)                 // what placing the body shows; true: it is to be placed anew
//   loops.keep_in_one(*v.node, "...")      // so it is, too
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "planner/cluster_graph.hpp"
#include "planner/machine_graph.hpp"
#include "planner/partitioning.hpp"

namespace query::planner {

struct loop_placement {
  bool divided = false;
  std::string why;               // it is not
  bool placed = false;                // by which key, if any, is decided
  std::shared_ptr<const logical> by;  // a verb that wants the variable by the hash of its key
};

class loop_partitions {
 public:
  loop_partitions(const machine_graph& g, const cluster_options& options);

  loop_placement& of(const vertex& loop) { return all_.at(loop.node); }
  // Of the loop whose variable, before or after a round, the branch begins with; null: another branch, or the first partition has it.
  const logical* divided_variable(const branch& b) const;
  // The same through tables that hold it as it is, but for rows that a filter leaves out.
  const logical* begins_with_variable(const branch& b) const;
  void keep_in_one(const logical& loop, std::string why) { all_.at(&loop) = {false, std::move(why), true, nullptr}; }
  // Of a loop whose body is placed: a key that a verb of it wants the variable by, and that the rows of a round lie by, wherever the
  // variable lies, if all that read the variable take its first rows in any order. True: there is one, so all is to be placed anew.
  bool choose_key(const vertex& loop, const machine_graph& g);
  const variable_keys& keys() const { return keys_; }

 private:
  void lie_by(const logical& loop, const logical* verb);  // null: by no key
  variable_keys keys_with(const logical& loop, const detail::user_function& key) const;

  std::unordered_map<const logical*, loop_placement> all_;
  std::unordered_map<std::uint64_t, const logical*> by_slot_;
  variable_keys keys_;
};

}  // namespace query::planner
