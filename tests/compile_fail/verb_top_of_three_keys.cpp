// form: from_trades.top(3, symbol_of, [](auto t) { return t.qty; }, symbol_of).count()
// message: query: top: takes one key. Several fields are one key: [](auto t) { return std::tuple(t.a, t.b); }
// expect: query: top: takes one key. Several fields are one key: [](auto t) { return std::tuple(t.a, t.b); }
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.top(3, symbol_of, [](auto t) { return t.qty; }, symbol_of).count()); }
