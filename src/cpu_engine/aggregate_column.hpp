// The states of one aggregate, one a group, without the user's types: what the compiled function keeps inside its own state.
//
//   auto column = make_aggregate_column(call, row_type, pool);
//   column->grow_to(groups); column->update(batch); column->result(0, groups, out);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "cpu_engine/interpreted_states.hpp"

namespace query::cpu {

// Rows with the values that the aggregate is of.
struct aggregate_batch {
  const std::uint32_t* groups = nullptr;  // null: all rows are of group 0
  const void* rows = nullptr;             // null: they lie in columns; then no aggregate asks for whole rows
  const std::uint32_t* select = nullptr;  // null: rows 0..n-1
  std::size_t n = 0;
  const void* arguments = nullptr;  // n values of call.argument->type
  bool owned = false;               // these may be moved from
  std::span<const interpreter::collection> collections;

  std::size_t group(std::size_t i) const { return groups ? groups[i] : 0; }
};

class aggregate_column {
 public:
  virtual ~aggregate_column() = default;
  virtual void grow_to(std::size_t groups) = 0;
  virtual void update(const aggregate_batch& b) = 0;
  // States of a column of the same aggregate join groups[i], or group 0. They are of no use afterwards.
  virtual void merge(const std::uint32_t* groups, aggregate_column& from, const state_numbers& of,
                     std::span<const interpreter::collection> collections) = 0;
  // About how much the states own, beyond what a state of any number does.
  virtual std::size_t heap_bytes() const { return 0; }
  // Once for each group. Constructs values of the call's type in raw memory; if it throws, nothing is left constructed.
  virtual void result(std::size_t first, std::size_t n, void* out, std::span<const interpreter::collection> collections) = 0;
  // States as bytes, as group_states has them.
  virtual std::size_t state_bytes() const;
  virtual void save(std::size_t i, std::byte* to);
  virtual void load(std::size_t i, const std::byte* from);
};

std::unique_ptr<aggregate_column> make_aggregate_column(const group_expressions::call& call, const ir::type* row,
                                                        runtime::buffer_pool& pool);

// By what the state is: a number or a few (count, sum, mean, min, variance, any...); values of a type known at run time
// (first, collect, arg_min, min of strings...); the user's own.
std::unique_ptr<aggregate_column> make_number_column(const ir::aggregate_call& call, runtime::buffer_pool& pool);  // null: not of that kind
std::unique_ptr<aggregate_column> make_quantile_column(const ir::aggregate_call& call, runtime::buffer_pool& pool);
std::unique_ptr<aggregate_column> make_distinct_column(const ir::aggregate_call& call, std::shared_ptr<distinct_spill> spill,
                                                       runtime::buffer_pool& pool);
std::unique_ptr<aggregate_column> make_value_column(const ir::aggregate_call& call, const ir::type* row, runtime::buffer_pool& pool);
std::unique_ptr<aggregate_column> make_custom_column(const group_expressions::call& call, const ir::type* row, runtime::buffer_pool& pool);

}  // namespace query::cpu
