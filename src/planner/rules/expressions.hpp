// What the rules ask of traced functions beyond ir/analysis.hpp: is a test the same wherever it runs?
#pragma once

#include <vector>

#include <query/detail/node.hpp>

namespace query::planner::rules {

// Native code may contract a * b + c of floats, which rounds once less: tests that do can differ in the last bit between two
// places of a program.
bool may_contract(const ir::node* n);

// What a comparison is with its sides the other way round.
ir::op mirrored(ir::op comparison);

// The interpreter gives the value that native code gives, and throws nothing, on any row.
bool same_when_interpreted(const ir::node* n);

// Equal for equal keys: -0.0 equals 0.0 as a key, but 1 / x tells them apart.
bool same_for_equal_keys(const ir::node* predicate);

// All that the predicate reads of row 0 are whole parts of the key.
bool reads_only_key(const ir::node* predicate, const ir::node* key);

// select(c, R{a, b}, R{d, b}) as R{select(c, a, d), b}: what a result function with an `if` reads for each field of its rows.
const ir::node* fields_first(ir::arena& a, const ir::node* n);

// The whole row, unchanged.
bool is_whole_row(const ir::traced& t);

// The aggregates in the function of a group, in the order of its text; each once.
std::vector<const ir::node*> aggregates_in(const ir::node* group_function);
// Any order of the rows gives the same bits.
bool ignores_order(const ir::node* aggregate);
// Are equal values of the type alike in every bit? Not where there are floats: 0.0 and -0.0 are equal, and so are all NaNs.
bool alike_where_equal(const ir::type* t);

}  // namespace query::planner::rules
