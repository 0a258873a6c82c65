// form: from_trades.to_map(symbol_of).find(7)
// message: query: to_map(...).find: the map ends with this expression
// expect: query: to_map(...).find: the map ends with this expression
// expect-at-most: 1
#include "verb_rows.hpp"

void f() {
  (void)from_trades.to_map(symbol_of).find(7);
}
