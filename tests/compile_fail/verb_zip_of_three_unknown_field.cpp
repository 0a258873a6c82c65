// form: from_trades.zip(from_trades, from_stocks, [](auto t, auto, auto s) { return t.qty + s.prize; }).count()
// message: the compiler: no member named 'prize', and nothing else
// expect-gcc: has no member named
// expect-clang: no member named 'prize'
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.zip(from_trades, from_stocks, [](auto t, auto, auto s) { return t.qty + s.prize; }).count()); }
