// The rows among which the first k of an order are, where few rows of many are wanted: one read of the keys instead of a sort of all rows.
//
// A key is taken for the first 64 bits of its sort: flags of nulls, numbers, the first seven bytes of a string, in their order. A sample of
// such words gives a bound that the k-th row surely is below (gpu_primitives/sampled_bound.cuh); the rows up to it are kept in their order,
// with what where and select in front of the sort make of them, and sorted as others are. Where the words are whole keys, the bound cuts
// rows of equal keys by their numbers; else all rows of the bound's word are kept.
//
//   if (auto few = first_in_order(v, rows, 10, run, begin_sort)) ...sort these: their first 10 rows are those of all...
#pragma once

#include <functional>

#include "gpu_engine/operators/operators.hpp"

namespace query::gpu_engine {

// How a sample of n rows bounds their first k: how many rows are looked at, the place of the bound among them, and how many rows there is
// room for below it.
struct order_sample {
  std::uint32_t rows = 0, place = 0;
  std::uint64_t room = 0;
  static order_sample of(std::uint64_t n, std::uint64_t k);
};

// Is that worth it? Rows are those before any filter.
bool worth_selecting(std::uint64_t n, std::uint64_t k, vertex_run& run);

// `v` sorts `rows`, the source of its input, and wants the first k. Null where that has no form, or more rows are left than a sort of them
// would save: sort them all. In the order of their source. `begin_sort`: called while the kernels are made that nobody has made yet.
result_rows first_in_order(const planner::vertex& v, const std::shared_ptr<const device_rows>& rows, std::uint64_t k, vertex_run& run,
                           const std::function<void()>& begin_sort);

// Generates its kernels, if there are some.
void plan_first_in_order(const planner::vertex& v);

}  // namespace query::gpu_engine
