// form: from_trades.asof_join(from_trades, symbol_of, symbol_of, name_of, name_of)
// message: query: asof_join: the times must be numbers
// expect: query: asof_join: the times must be numbers
// expect-at-most: 1
#include "verb_rows.hpp"

void f() {
  const auto name_of = [](auto t) { return t.name; };
  (void)(from_trades.asof_join(from_trades, symbol_of, symbol_of, name_of, name_of).count());
}
