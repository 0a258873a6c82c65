// form: from_trades.min_by(symbol_of, [](auto t) { return t.qty; }, symbol_of)
// message: query: min_by: takes one key. Several fields are one key: [](auto t) { return std::tuple(t.a, t.b); }
// expect: query: min_by: takes one key. Several fields are one key: [](auto t) { return std::tuple(t.a, t.b); }
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.min_by(symbol_of, [](auto t) { return t.qty; }, symbol_of)); }
