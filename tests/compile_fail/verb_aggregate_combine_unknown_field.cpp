// form: from_trades.aggregate(Stock{}, [](auto s, auto) { return s; }, [](auto a, auto) { return a.prize; })
// message: the compiler: no member named 'prize', and nothing else
// expect-gcc: has no member named
// expect-clang: no member named 'prize'
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.aggregate(Stock{}, [](auto s, auto) { return s; }, [](auto a, auto) { return a.prize; })); }
