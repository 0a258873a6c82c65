// form: from_trades.select([](Trade& t) { t.qty = 3; return t; }).to_vector()
// message: query: select: the function takes the row by a reference to change it by, and rows are read-only. Take it as `const Row& t` or `auto t`
// expect: query: select: the function takes the row by a reference to change it by, and rows are read-only. Take it as `const Row& t` or `auto t`
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.select([](Trade& t) { t.qty = 3; return t; }).to_vector()); }
