// form: from_trades.group_by(symbol_of).select([](auto g) { return g.product(symbol_of); }).to_vector()
// message: the compiler: no member named 'product'
// expect-gcc: has no member named
// expect-clang: no member named 'product'
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](auto g) { return g.product(symbol_of); }).to_vector()); }
