// form: from_trades.top(3, symbol_of, [](int a) { return a > 1; }).to_vector()
// message: query: top: the order must take two keys and give bool: top(n, key, less)
// expect: query: top: the order must take two keys and give bool: top(n, key, less)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.top(3, symbol_of, [](int a) { return a > 1; }).to_vector()); }
