// form: from_trades.max_by(symbol_of, [](int a) { return a > 1; })
// message: query: max_by: the order must take two keys and give bool: max_by(f, less)
// expect: query: max_by: the order must take two keys and give bool: max_by(f, less)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.max_by(symbol_of, [](int a) { return a > 1; })); }
