// form: query::value_of(from_trades).count() > 3 ? 1 : 2
// message: query: value_of: this is a query::Value, which is not computed yet, and not a condition. Write .get() after it
// expect: query: value_of: this is a query::Value, which is not computed yet, and not a condition. Write .get() after it
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(query::value_of(from_trades).count() > 3 ? 1 : 2); }
