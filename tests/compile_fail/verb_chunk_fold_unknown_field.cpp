// form: from_trades.chunk(2, [](auto run) { return query::fold(run, 0, [](auto s, auto t) { return s + t.prize; }); }).count()
// message: the compiler: no member named 'prize', and nothing else
// expect-gcc: has no member named
// expect-clang: no member named 'prize'
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.chunk(2, [](auto run) { return query::fold(run, 0, [](auto s, auto t) { return s + t.prize; }); }).count()); }
