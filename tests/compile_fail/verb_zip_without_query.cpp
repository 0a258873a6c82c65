// form: from_trades.zip().count()
// message: query: zip: the other rows are missing: zip(rows)
// expect: query: zip: the other rows are missing: zip(rows)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.zip().count()); }
