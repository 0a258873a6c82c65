// form: from_trades.min_by(symbol_of, [](int a) { return a > 1; })
// message: query: min_by: the order must take two keys and give bool: min_by(f, less)
// expect: query: min_by: the order must take two keys and give bool: min_by(f, less)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.min_by(symbol_of, [](int a) { return a > 1; })); }
