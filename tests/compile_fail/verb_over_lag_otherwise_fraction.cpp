// form: from_trades.over(symbol_of).order_by(symbol_of).select([](const auto&, const auto& w) { return w.lag([](const Trade& t) { return t.qty; }, 1, 2.5); }).to_vector()
// message: query: over: the value of lag and lead where there is no row has a fraction
// expect: query: over: the value of lag and lead where there is no row has a fraction
// expect-at-most: 2
#include "verb_rows.hpp"

void f() {
  (void)from_trades.over(symbol_of)
      .order_by(symbol_of)
      .select([](const auto&, const auto& w) { return w.lag([](const Trade& t) { return t.qty; }, 1, 2.5); })
      .to_vector();
}
