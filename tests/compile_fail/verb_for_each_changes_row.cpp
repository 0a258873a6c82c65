// form: from_trades.for_each([](Trade& t) { t.qty = 3; })
// message: query: for_each: the function takes the row by a reference to change it by, and rows are read-only. Take it as `const Row& t` or `auto t`
// expect: query: for_each: the function takes the row by a reference to change it by, and rows are read-only. Take it as `const Row& t` or `auto t`
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.for_each([](Trade& t) { t.qty = 3; })); }
