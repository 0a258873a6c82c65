// form: from_trades.pivot(symbol_of, [](auto t) { return t.qty; }, {"one", "two"}, [](auto g) { return g.count(); }).count()
// message: query: pivot: the values of the columns do not have the type that the function of the column gives
// expect: query: pivot: the values of the columns do not have the type that the function of the column gives
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.pivot(symbol_of, [](auto t) { return t.qty; }, {"one", "two"}, [](auto g) { return g.count(); }).count()); }
