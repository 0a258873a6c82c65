// form: from_trades.join_where(from_trades)
// message: query: join_where: takes the other rows and a condition on a left and a right row
// expect: query: join_where: takes the other rows and a condition on a left and a right row
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.join_where(from_trades).count()); }
