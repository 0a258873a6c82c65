// Aggregates that a text may ask of groups, as the expressions of a function of groups.
//
//   if (is_aggregate("sum")) operand total = aggregate_of(m, "sum", &price, at, length);     // sum(price)
#pragma once

#include <string_view>

#include "ir/typed_text/operands.hpp"

namespace query::ir::typed_text {

bool is_aggregate(std::string_view name);

// argument: over the rows of the group; null: there is none, count() or count(*). Throws fault.
operand aggregate_of(const maker& m, std::string_view name, const operand* argument, std::size_t at, std::size_t length);

}  // namespace query::ir::typed_text
