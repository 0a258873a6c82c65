// form: from_trades.aggregate_by(symbol_of, 0, [](int s, auto t) { return s + t.prize; }, [](int a, int b) { return a + b; }).count()
// message: the compiler: no member named 'prize', and nothing else
// expect-gcc: has no member named
// expect-clang: no member named 'prize'
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.aggregate_by(symbol_of, 0, [](int s, auto t) { return s + t.prize; }, [](int a, int b) { return a + b; }).count()); }
