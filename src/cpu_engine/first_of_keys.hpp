// Which rows are the first with their key: the heart of distinct, union_with, intersect and except.
//
//   permutation first = first_of_keys(keys, tasks);   // row numbers, ascending
#pragma once

#include "cpu_engine/grouper.hpp"
#include "cpu_engine/key_runs.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

// Numbers of the keys that no earlier one equals. Small inputs are grouped by one thread; with few distinct keys each part is first
// reduced by itself; many distinct keys are divided by their hash. Nulls equal each other.
permutation first_of_keys(const key_runs& keys, const vertex_tasks& tasks);
// Of these those that are (or are not) among others.
permutation first_of_keys(const key_runs& keys, const key_runs& others, bool among, const vertex_tasks& tasks);

// The same for rows that come bit by bit: it knows the keys of all calls so far.
class seen_keys {
 public:
  seen_keys(const ir::type* key, key_equality custom, runtime::buffer_pool& pool) : groups_(key, pool, custom) {}
  permutation first_of(const void* keys, std::size_t n, const vertex_tasks& tasks);
  const grouper& known() const { return groups_; }

 private:
  grouper groups_;
};

}  // namespace query::cpu
