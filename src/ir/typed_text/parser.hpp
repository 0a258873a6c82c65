// Texts that users type become expressions over rows of a type: conditions, sort keys.
//
//   traced t = condition_of(query::parsed("price > 3"), describe<Trade>());       // show(t): "(price > 3.0)"
//
// Recursive descent over the tokens; types are known at once, so there is no tree in between. What the operators make of their operands
// is said in operands.hpp. Throws fault.
#pragma once

#include <memory>
#include <optional>
#include <string>
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

// "symbol, price * qty as amount", "*": values over a row, with names. One that is no field is called by its text, unless it has a name.
struct named_value {
  std::string name;
  const node* value;
  std::size_t at = 0, length = 0;  // in the text
};
struct value_list {
  std::shared_ptr<arena> owner;
  std::vector<named_value> values;
};
value_list columns_of(const text_expression& text, const type* row);
// "sum(price * qty) as amount, count() as trades": values over a group of such rows.
value_list aggregates_of(const text_expression& text, const type* row);

}  // namespace query::ir::typed_text
