// form: from_trades.group_join(from_stocks, symbol_of, symbol_of).to_vector()
// message: query: group_join: the result function is missing: group_join(right, left key, right key, [](const auto& row, const auto& matches) { ... })
// expect: query: group_join: the result function is missing: group_join(right, left key, right key, [](const auto& row, const auto& matches) { ... })
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_join(from_stocks, symbol_of, symbol_of).to_vector()); }
