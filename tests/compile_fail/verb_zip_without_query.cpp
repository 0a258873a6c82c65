// form: from_trades.zip().count()
// message: query: zip: the other query is missing: zip(query::from(rows))
// expect: query: zip: the other query is missing: zip(query::from(rows))
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.zip().count()); }
