// form: from_trades.group_join(from_stocks, symbol_of, symbol_of, [](const Trade&, const Stock&) { return 1; }).count()
// message: query: group_join: the result function must take (left row, const std::vector<right row>&)
// expect: query: group_join: the result function must take (left row, const std::vector<right row>&)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_join(from_stocks, symbol_of, symbol_of, [](const Trade&, const Stock&) { return 1; }).count()); }
