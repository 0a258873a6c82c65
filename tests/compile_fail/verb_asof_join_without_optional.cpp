// form: from_trades.asof_join(from_trades, qty_of, qty_of, [](const Trade&, const Trade& r) { return r.qty; })
// message: query: asof_join: the result function must take (left row, std::optional<right row>)
// expect: query: asof_join: the result function must take (left row, std::optional<right row>)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() {
  (void)(from_trades.asof_join(from_trades, symbol_of, symbol_of, [](const Trade&, const Trade& r) { return r.qty; }).count());
}
