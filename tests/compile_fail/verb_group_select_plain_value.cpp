// form: from_trades.group_by(symbol_of).select([](auto) { return 3; }).to_vector()
// message: query: group_by(...).select, aggregate, reduce: the function must give g.key(), an aggregate such as g.sum(f)
// expect: query: group_by(...).select, aggregate, reduce: the function must give g.key(), an aggregate such as g.sum(f)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](auto) { return 3; }).to_vector()); }
