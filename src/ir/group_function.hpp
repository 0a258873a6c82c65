// What a function of groups computes, apart from how: which aggregates of which expressions, and the final expression over
// their results. Every engine that does not call the compiled function plans from this: the interpreter, code generators,
// and a cluster, which keeps the states of one group on several machines.
//
//   group_analysis a = plan_group_function(node.functions.back().trace(), node.key, node.row);
//   if (!a.plan) native(a.reason);
//   for (const aggregate_call& c : a.plan->calls) keep a state of c.what over c.argument (row 0: the row), a group
//   evaluate a.plan->finish with the value of each c.node, and of a.plan->key, bound
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <query/detail/node.hpp>

namespace query::ir {

enum class aggregate_kind : std::uint8_t {
  count,           // rows; no argument
  count_if,        // rows whose argument is true, or not zero, or not null
  sum, mean,       // of numbers, or of arrays of numbers element by element
  min, max,        // NaNs lose against numbers
  arg_min, arg_max,// the row whose argument is least or greatest; the first of several
  variance, stddev,// of a sample (n - 1); null below two values
  first, last,     // the argument of the first or last row, null or not
  any, all,        // is the argument true of any, of all rows?
  count_distinct,
  quantile,        // the value at rank `rank * (n - 1)`, between two values by their distance; the median has rank 0.5
  collect,         // the arguments of all rows as a list
  custom,          // seed, update, combine and finish of the user's own
};
std::string_view name_of(aggregate_kind k);

// One aggregate. Nulls (an argument that is an empty optional) are passed over, but by first, last and collect.
struct aggregate_call {
  aggregate_kind what = aggregate_kind::count;
  const node* source = nullptr;    // the op::aggregate node, as `finish` uses it: source->type is the type of the result
  const node* argument = nullptr;  // over row 0; null for count and custom
  const type* value = nullptr;     // of the argument, without the optional around it; null as above
  bool nullable = false;           // the argument is an optional; the result is then one too where there may be no value
  double rank = 0.5;               // of quantile

  // custom, with S the type of `seed`. combine(seed, x) is x, so every part of the rows may start from the seed.
  const node* seed = nullptr;      // reads no row
  const node* update = nullptr;    // row 0: the row, row 1: the state before it
  const node* combine = nullptr;   // rows 0 and 1: states, of earlier and of later rows
  const node* finish = nullptr;    // row 0: the state
};

// The state is of a fixed size, whatever the rows.
bool fixed_state(aggregate_kind k);
// Which rows come first matters to more than the last bits of a float.
bool needs_order(aggregate_kind k);
// What a sum of numbers of a kind is kept in: 64 bits wide; and the sum behind a mean: as in include/query/cpu/fold_loops.hpp, a
// double for 64-bit integers, which may wrap where their mean does not.
kind kind_of_sum(kind of);
kind kind_of_mean_sum(kind of);

struct group_plan {
  std::shared_ptr<arena> owner;       // keeps all nodes alive
  std::vector<aggregate_call> calls;  // each once, however often the function uses it
  const node* key = nullptr;          // the op::key node in `finish`; null if the key is not part of the result
  const node* finish = nullptr;       // over the values of `key` and of each call's `source`
};

struct group_analysis {
  std::optional<group_plan> plan;
  std::string reason;  // why there is none
};

// `key` is the type of the groups' keys (null: there is one group, of all rows), `result` that of the rows that the compiled
// function gives: where trace and compiled code differ in a type, there is no plan. Linear in the size of the expression.
group_analysis plan_group_function(const traced& function, const type* key, const type* result);

}  // namespace query::ir
