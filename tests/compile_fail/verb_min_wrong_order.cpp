// form: from_trades.min(symbol_of, [](int a) { return a > 1; })
// message: query: min: the order must take two keys and give bool: min(f, less)
// expect: query: min: the order must take two keys and give bool: min(f, less)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.min(symbol_of, [](int a) { return a > 1; })); }
