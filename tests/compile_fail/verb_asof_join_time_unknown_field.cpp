// form: from_trades.asof_join(from_stocks, symbol_of, [](auto s) { return s.prize; }).count()
// message: the compiler: no member named 'prize', and nothing else
// expect-gcc: has no member named
// expect-clang: no member named 'prize'
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.asof_join(from_stocks, symbol_of, [](auto s) { return s.prize; }).count()); }
