// form: from_trades.hash_partitioned_by([](const Trade& t) { return Plain{t.qty}; }).count()
// message: query: hash_partitioned_by: this key type has no description
// expect: query: hash_partitioned_by: this key type has no description
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.hash_partitioned_by([](const Trade& t) { return Plain{t.qty}; }).count()); }
