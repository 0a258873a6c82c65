// form: from_trades.take().to_vector()
// message: query: take: the number of rows is missing: take(10)
// expect: query: take: the number of rows is missing: take(10)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.take().to_vector()); }
