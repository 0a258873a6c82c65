// The aggregates of a group function as device code: what a row contributes (Args), a group's State, how they meet, and the
// final expression over the states.
//
// Generated in the shape that the grouping primitives ask for (gpu_primitives/group_table.cuh). States whose every part has
// an atomic form get one; means, sums, counts, extremes do, moments, firsts and extremes of strings do not.
#pragma once

#include <string>

#include "gpu_engine/codegen/row_function.hpp"
#include "ir/group_function.hpp"

namespace query::gpu_engine {

struct generated_aggregates {
  std::string fill;  // statements that set `args` from expressions over the row, and its number `i`
  std::size_t state_bytes = 0, state_align = 4, args_bytes = 0;
  bool atomic = true;        // the aggregates have update_atomic and merge_atomic
  bool row_numbers = false;  // some result is a row that is fetched by its number
  bool texts = false;        // states view strings, which lie in the memory of the rows
  bool spread = false;       // one sum of long arrays and a count: what group_shared.cuh calls spread_sums
};

// Adds `struct aggregates { State, Args, init, update, merge... }`. The arguments are evaluated by `row`, in the order of the
// calls; `in_memory` has, for calls whose argument lies in the input as it is, the text of that place (else ""). With
// `first_rows`, a State has `first_row` too, the least number of the group's rows. Throws not_generated for aggregates that
// have no form on the GPU.
generated_aggregates generate_aggregates(kernel_source& k, const ir::group_plan& plan, expressions& row,
                                         const std::vector<std::string>& in_memory, bool first_rows = false);

// Rows side by side by group, in their order (gpu_primitives/segments.cuh): then every aggregate has a form. The functions of
// `aggregates` take `p` before the states; `fill` knows the place of the row in that order, `place`, and whether it is the `first`
// of its group.
struct rows_by_group {
  row_source row;                 // row number `a.at`, what custom aggregates update from
  std::uint32_t site = 0;         // of their errors
  std::uint32_t arguments = 0;    // number of the first kernel argument of this kind, two a call
  // Of call j: 2 * j is the order of rows by (group, value, nulls last); 2 * j + 1 the values of a list side by side, or
  // the numbers that stand for the values of rows.
};
// Does call c want its values sorted within groups?
inline bool wants_sorted(const ir::aggregate_call& c) {
  return c.what == ir::aggregate_kind::count_distinct || c.what == ir::aggregate_kind::quantile;
}
// Is each of them given a number first, equal ones the same?
inline bool wants_numbered(const ir::aggregate_call& c) {
  return c.what == ir::aggregate_kind::count_distinct && !ir::is_arithmetic(c.value->k);
}
// Does its state view strings?
inline bool views_texts(const ir::aggregate_call& c) {
  return ir::fixed_state(c.what) && c.what != ir::aggregate_kind::count_if && c.value && c.value->k == ir::kind::string;
}
inline bool wants_rows_by_group(const ir::aggregate_call& c) { return c.what == ir::aggregate_kind::custom || !ir::fixed_state(c.what); }
generated_aggregates generate_aggregates_in_order(kernel_source& k, const ir::group_plan& plan, expressions& row,
                                                  const rows_by_group& rows);

// Loops over arrays of so many elements are not unrolled: rows go another way (add_element), what remains is rare and long to
// compile.
inline constexpr std::size_t long_array = 8;
inline constexpr const char* rolled = "\n#pragma unroll 1\n      ";

// group_finish.cpp: adds `Result finish_group(const words& p, const K& key, const aggregates::State& s)`. `fetch` is the name of a row
// function, for aggregates whose result is a row.
void generate_finish(kernel_source& k, const ir::group_plan& plan, const ir::type* key, const ir::type* result, const std::string& fetch,
                     const ir::type* row, const std::string& verb, detail::call_site where, std::uint32_t arguments = 0);

}  // namespace query::gpu_engine
