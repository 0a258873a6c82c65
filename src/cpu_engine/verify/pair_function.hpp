// Functions of pairs of rows in both forms: the results of joins, of cross_join and of zip; and which pairs a join makes.
#pragma once

#include <vector>

#include "cpu_engine/rows_buffer.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu::verify {

// Rows of two sides, by address; null where the side is missing.
struct pairs {
  std::vector<const void*> left, right;
  void add(const void* l, const void* r) {
    left.push_back(l);
    right.push_back(r);
  }
};

// One side of a join: a sample of its rows, or all of them. read: the fields that hold what the source has (difference.hpp).
struct join_side {
  const void* rows = nullptr;
  std::size_t n = 0;
  const ir::type* type = nullptr;
  bool all = false;
  std::vector<bool> read = {};
};

// The native results of the verb's last function; throws a difference where those of the expression are others.
rows_buffer map_pairs(const detail::logical& n, const join_side& left, const join_side& right, const pairs& of, runtime::buffer_pool& pool);

// Of these pairs those for which the verb's first function, a condition, holds in both forms.
pairs chosen(const detail::logical& n, const join_side& left, const join_side& right, const pairs& of, runtime::buffer_pool& pool);

// The pairs of rows that a join makes of these; checks both keys on a sample. Pairs with a missing side only where the
// other side is there as a whole: what has no match in a sample may have one.
pairs joined(const detail::logical& join, const join_side& left, const join_side& right, runtime::buffer_pool& pool);

// The function of group_join over the left rows of these pairs, each with the list of its matches, in both forms.
void check_matches_function(const detail::logical& n, const join_side& left, const pairs& matched, runtime::buffer_pool& pool);

}  // namespace query::cpu::verify
