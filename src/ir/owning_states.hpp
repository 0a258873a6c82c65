// Which functions of groups keep states that own memory: strings, lists and sets of values.
#pragma once

#include <ir/group_function.hpp>

namespace query::ir {

// row: the type of the rows that are grouped.
bool keeps_owned_memory(const group_plan& p, const type& row);

}  // namespace query::ir
