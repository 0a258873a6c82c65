// form: from_trades.join_where(from_stocks, symbol_of, symbol_of)
// message: query: join_where: the condition must take (left row, right row). The arguments are join_where(right, condition, result)
// expect: query: join_where: the condition must take (left row, right row). The arguments are join_where(right, condition, result)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.join_where(from_stocks, symbol_of, symbol_of).count()); }
