// form: from_trades.over(symbol_of, [](auto t) { return t.qty; }).take(1).count()
// message: query: over: takes one key. Several fields are one key: [](auto t) { return std::tuple(t.a, t.b); }
// expect: query: over: takes one key. Several fields are one key: [](auto t) { return std::tuple(t.a, t.b); }
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.over(symbol_of, [](auto t) { return t.qty; }).take(1).count()); }
