// form: from_trades.join(from_stocks, symbol_of, symbol_of, [](auto t, auto) { return t.prize; }).to_vector()
// message: the compiler: no member named 'prize', and nothing else
// expect-gcc: has no member named
// expect-clang: no member named 'prize'
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.join(from_stocks, symbol_of, symbol_of, [](auto t, auto) { return t.prize; }).to_vector()); }
