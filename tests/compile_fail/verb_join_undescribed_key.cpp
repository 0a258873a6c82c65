// form: from_trades.join(from_stocks, [](const Trade& t) { return Plain{t.qty}; }, [](const Stock& s) { return Plain{s.symbol}; }).count()
// message: query: join: this key type has no description
// expect: query: join: this key type has no description
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.join(from_stocks, [](const Trade& t) { return Plain{t.qty}; }, [](const Stock& s) { return Plain{s.symbol}; }).count()); }
