// form: from_trades.pivot(symbol_of, symbol_of, [](auto t) { return t.qty; }, std::array{1, 2}, [](auto g) { return g.count(); }).count()
// message: query: pivot: takes one key. Several fields are one key: [](auto t) { return std::tuple(t.a, t.b); }
// expect: query: pivot: takes one key. Several fields are one key: [](auto t) { return std::tuple(t.a, t.b); }
// expect-at-most: 1
#include "verb_rows.hpp"
#include <array>

void f() { (void)(from_trades.pivot(symbol_of, symbol_of, [](auto t) { return t.qty; }, std::array{1, 2}, [](auto g) { return g.count(); }).count()); }
