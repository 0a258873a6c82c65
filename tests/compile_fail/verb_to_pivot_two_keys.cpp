// form: from_trades.to_pivot(symbol_of, symbol_of, [](auto t) { return t.qty; }, [](auto g) { return g.count(); }).columns()
// message: query: to_pivot: takes one key. Several fields are one key: [](auto t) { return std::tuple(t.a, t.b); }
// expect: query: to_pivot: takes one key. Several fields are one key: [](auto t) { return std::tuple(t.a, t.b); }
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.to_pivot(symbol_of, symbol_of, [](auto t) { return t.qty; }, [](auto g) { return g.count(); }).columns()); }
