// The values of a count_distinct of all rows, where memory is short: put apart by their hash, in a partition store, and counted partition
// by partition. Sets of values give theirs to it when they are large, and begin again, so that a value may come several times.
//
//   distinct_spill spill(type, context);
//   if (spill.full()) spill.put(values, n);      // on any threads
//   spill.count()                                // once all have come
#pragma once

#include <atomic>
#include <cstdint>

#include "cpu_engine/partition_store.hpp"

namespace query::cpu {

class distinct_spill {
 public:
  // Can values of the type go to files?
  static bool can_keep(const ir::type& t);
  distinct_spill(const ir::type* t, runtime::run_context& context);

  bool begun() const { return begun_.load(std::memory_order_relaxed); }
  // Is so much of the memory in use that sets should give their values away?
  bool full() const;
  // A set of so many bytes is worth it.
  std::size_t least_bytes() const;
  void put(const void* values, std::size_t n);
  std::uint64_t count();

 private:
  std::uint64_t count(std::size_t partition, std::size_t bytes_at_once);

  const ir::type* type_;
  runtime::run_context* context_;
  partition_store store_;
  std::atomic<std::size_t> parts_ = 0;
  std::atomic<bool> begun_ = false;
};

}  // namespace query::cpu
