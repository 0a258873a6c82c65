// form: from_trades.range_partitioned_by([](const Trade& t) { return Plain{t.qty}; }).count()
// message: query: range_partitioned_by: this key type has no order
// expect: query: range_partitioned_by: this key type has no order
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.range_partitioned_by([](const Trade& t) { return Plain{t.qty}; }).count()); }
