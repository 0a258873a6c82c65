// form: from_trades.max(symbol_of, [](int a) { return a > 1; })
// message: query: max: the order must take two keys and give bool: max(f, less)
// expect: query: max: the order must take two keys and give bool: max(f, less)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.max(symbol_of, [](int a) { return a > 1; })); }
