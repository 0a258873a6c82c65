// form: from_trades.join(from_stocks, "symbol", "symbol").count()
// message: query: join: the keys are functions, not names of fields. Write [](auto t) { return t.field; }
// expect: query: join: the keys are functions, not names of fields. Write [](auto t) { return t.field; }
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.join(from_stocks, "symbol", "symbol").count()); }
