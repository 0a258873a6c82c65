// form: from_trades.group_by(symbol_of).select([](auto g) { return g.any([](auto t) { return t.qty; }); }).to_vector()
// message: query: any: the predicate gives a number and must give bool. Compare it, as in `t.qty != 0`
// expect: query: any: the predicate gives a number and must give bool. Compare it, as in `t.qty != 0`
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](auto g) { return g.any([](auto t) { return t.qty; }); }).to_vector()); }
