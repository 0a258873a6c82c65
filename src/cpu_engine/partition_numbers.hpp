// Which partition a row of a hash goes to, of a partition verb or of an exchange by hash.
//
//   const partition_numbers numbers(vertex, rows, context);
//   numbers.count();      // partitions that are made here
//   numbers.of(hash);     // 0 ... count() - 1
//
// Where a partition verb runs in several partitions of a cluster, each has some of the verb's partitions, in their order: an exchange has
// brought it their rows. The windows of over(key) lie where their rows do; each partition divides those that it has.
#pragma once

#include <cstddef>
#include <cstdint>

#include <query/detail/failure.hpp>

#include "cpu_engine/key_hash.hpp"
#include "planner/machine_graph.hpp"
#include "planner/partitions.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

class partition_numbers {
 public:
  partition_numbers(const planner::vertex& v, std::size_t rows, const runtime::run_context& context)
      : node_(v.node), all_(planner::partitions_of(*v.node, rows)), here_{0, all_} {
    if (v.moves) {
      receivers_ = static_cast<std::size_t>(v.node->count);
      if (v.node->seed) all_ = static_cast<std::size_t>(v.node->seed);
    } else if (v.partitions > 1 && planner::is_of_windows(*v.node)) {
      // The first bits of hashes may have chosen the partition of the cluster: most rows would go to a few partitions.
      mixes_ = true;
    } else if (v.partitions > 1) {
      here_ = planner::owned_by(context.partition, all_, static_cast<std::size_t>(v.partitions));
    }
  }

  std::size_t count() const { return here_.size(); }
  std::size_t of(std::uint64_t hash) const {
    const std::size_t p = partition_of(mixes_ ? hash_word(hash) : hash, all_);
    if (receivers_) return all_ == receivers_ ? p : planner::owner_of(p, all_, receivers_);
    if (p < here_.begin || p >= here_.end)
      detail::fail(node_->label, "its key gave another value when it was called once more for the same row, in another process; "
                   "let it depend on the row alone", node_->where);
    return p - here_.begin;
  }

 private:
  const detail::logical* node_;
  std::size_t all_, receivers_ = 0;  // receivers_: of an exchange; 0: it is none
  planner::owned_partitions here_;
  bool mixes_ = false;
};

}  // namespace query::cpu
