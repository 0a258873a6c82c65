// form: from_trades.group_by(symbol_of).aggregate(0, [](auto s, auto t) { return s + t.qty; }).count()
// message: query: group_by(...).aggregate: takes aggregates of the group, not a seed: aggregate(sum(f), count())
// expect: query: group_by(...).aggregate: takes aggregates of the group, not a seed: aggregate(sum(f), count())
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).aggregate(0, [](auto s, auto t) { return s + t.qty; }).count()); }
