// form: from_trades.distinct_by([](const Trade& t) { return Plain{t.qty}; }).count()
// message: query: distinct_by: this key type has no description
// expect: query: distinct_by: this key type has no description
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.distinct_by([](const Trade& t) { return Plain{t.qty}; }).count()); }
