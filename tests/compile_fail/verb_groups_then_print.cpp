// form: from_trades.group_by(symbol_of).groups().print()
// message: query: print: a query::Group holds its rows and has no columns. Say what becomes of each group: select([](auto g) { return std::tuple(g.key(), g.count()); }) after group_by(key)
// expect: query: print: a query::Group holds its rows and has no columns. Say what becomes of each group: select([](auto g) { return std::tuple(g.key(), g.count()); }) after group_by(key)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).groups().print()); }
