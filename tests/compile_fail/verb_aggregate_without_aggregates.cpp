// form: from_trades.aggregate()
// message: query: aggregate: the aggregates are missing: aggregate(sum([](auto t) { return t.qty; }), count())
// expect: query: aggregate: the aggregates are missing: aggregate(sum([](auto t) { return t.qty; }), count())
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.aggregate()); }
