// form: query::value_of(trades).count()
// message: query: value_of: takes a query. Write query::value_of(query::from(rows))
// expect: query: value_of: takes a query. Write query::value_of(query::from(rows))
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(query::value_of(trades).count()); }
