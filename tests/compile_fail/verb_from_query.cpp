// form: query::from(from_trades).count()
// message: query: from: this is a query already. Use it as it is
// expect: query: from: this is a query already. Use it as it is
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(query::from(from_trades).count()); }
