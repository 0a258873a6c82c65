// form: from_trades.where().to_vector()
// message: query: where: the predicate is missing: where([](auto t) { return t.qty > 100; })
// expect: query: where: the predicate is missing: where([](auto t) { return t.qty > 100; })
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.where().to_vector()); }
