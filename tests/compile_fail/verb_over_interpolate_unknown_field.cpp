// form: from_trades.over(symbol_of).select([](auto, auto w) { return w.interpolate([](auto t) { return t.prize; }); }).count()
// message: the compiler: no member named 'prize', and nothing else
// expect-gcc: has no member named
// expect-clang: no member named 'prize'
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.over(symbol_of).select([](auto, auto w) { return w.interpolate([](auto t) { return t.prize; }); }).count()); }
