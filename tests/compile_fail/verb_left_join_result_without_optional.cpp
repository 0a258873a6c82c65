// form: from_trades.left_join(from_stocks, symbol_of, symbol_of, [](const Trade& t, const Stock&) { return t.price; }).sum()
// message: query: left_join: the result function must take (left row, std::optional<right row>): a left row may have no match
// expect: query: left_join: the result function must take (left row, std::optional<right row>): a left row may have no match
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.left_join(from_stocks, symbol_of, symbol_of, [](const Trade& t, const Stock&) { return t.price; }).sum()); }
