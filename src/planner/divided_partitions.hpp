// Which partition verbs, and functions of their partitions, may run in all partitions of a cluster graph.
//
// hash_partitioned_by(key, n) is an exchange by the hash of its key: each partition of the cluster gets some of the n partitions, in their
// order, and apply calls its function there. over(key) is made of such a partition, too: its rows have numbers, by which they are put back
// into order afterwards, so each partition of the cluster may count from a number of its own.
//
//   const divided_partitions divided(graph, options);
//   if (divided.why_in_one(*v).empty()) ...            // of a partition, or an apply
#pragma once

#include <string>
#include <unordered_map>

#include "planner/cluster_graph.hpp"
#include "planner/machine_graph.hpp"

namespace query::planner {

class divided_partitions {
 public:
  divided_partitions(machine_graph& g, const cluster_options& options);
  // Why the vertex runs in the first partition; empty: nothing here keeps it there.
  const std::string& why_in_one(const vertex& v) const;

 private:
  std::string why_partition(const vertex& v, const cluster_options& options) const;
  std::string why_apply(const vertex& v, const cluster_options& options) const;

  std::unordered_map<const vertex*, std::string> why_;
};

// The stage of a partition of windows that gives rows their numbers; null: rows have other numbers, which have to be right.
stage* stage_of_numbers(vertex& partition);

}  // namespace query::planner
