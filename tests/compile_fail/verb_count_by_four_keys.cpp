// form: from_trades.count_by(symbol_of, [](auto t) { return t.qty; }, symbol_of, symbol_of).count()
// message: query: count_by: takes one key. Several fields are one key: [](auto t) { return std::tuple(t.a, t.b); }
// expect: query: count_by: takes one key. Several fields are one key: [](auto t) { return std::tuple(t.a, t.b); }
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.count_by(symbol_of, [](auto t) { return t.qty; }, symbol_of, symbol_of).count()); }
