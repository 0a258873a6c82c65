// form: from_trades.distinct_by(symbol_of, [](auto t) { return t.qty; }, symbol_of, symbol_of).count()
// message: query: distinct_by: takes one key. Several fields are one key: [](auto t) { return std::tuple(t.a, t.b); }
// expect: query: distinct_by: takes one key. Several fields are one key: [](auto t) { return std::tuple(t.a, t.b); }
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.distinct_by(symbol_of, [](auto t) { return t.qty; }, symbol_of, symbol_of).count()); }
