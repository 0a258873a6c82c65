// form: from_trades.group_join(from_stocks, symbol_of, symbol_of, [](auto t, auto s) { return t.qty + query::sum(s, [](auto x) { return x.prize; }); }).count()
// message: the compiler: no member named 'prize', and nothing else
// expect-gcc: has no member named
// expect-clang: no member named 'prize'
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_join(from_stocks, symbol_of, symbol_of, [](auto t, auto s) { return t.qty + query::sum(s, [](auto x) { return x.prize; }); }).count()); }
