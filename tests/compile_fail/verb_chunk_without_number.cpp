// form: from_trades.chunk().count()
// message: query: chunk: the number of rows is missing: chunk(100)
// expect: query: chunk: the number of rows is missing: chunk(100)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.chunk().count()); }
