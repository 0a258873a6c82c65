// form: from_trades.group_by(symbol_of).select([](auto g) { return g.any([](auto t) { return t.name; }); }).to_vector()
// message: query: any: the predicate must give bool
// expect: query: any: the predicate must give bool
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](auto g) { return g.any([](auto t) { return t.name; }); }).to_vector()); }
