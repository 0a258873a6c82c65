// Texts that users type become expressions over rows of a type: conditions, sort keys.
//
//   traced t = condition_of(query::parsed("price > 3"), describe<Trade>());       // show(t): "(price > 3.0)"
//
// Recursive descent over the tokens; types are known at once, so there is no tree in between. What the operators make of their operands
// is said in operands.hpp. Throws fault.
#pragma once

#include <optional>
#include <vector>

#include <query/detail/node.hpp>
#include <query/text.hpp>

#include "ir/typed_text/faults.hpp"

namespace query::ir::typed_text {

traced condition_of(const text_expression& text, const type* row);

// "price desc, symbol nulls first": the first key decides.
struct sort_key {
  traced key;  // an optional where it may be null
  bool descending = false;
  std::optional<bool> nulls_first;  // if it says so
};
std::vector<sort_key> sort_keys_of(const text_expression& text, const type* row);

}  // namespace query::ir::typed_text
