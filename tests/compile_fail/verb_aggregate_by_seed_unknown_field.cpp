// form: from_stocks.aggregate_by(itself, [](auto s) { return s.prize; }, [](auto s, auto t) { return s + t.symbol; }, [](auto a, auto b) { return a + b; }).count()
// message: the compiler: no member named 'prize', and nothing else
// expect-gcc: has no member named
// expect-clang: no member named 'prize'
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_stocks.aggregate_by(itself, [](auto s) { return s.prize; }, [](auto s, auto t) { return s + t.symbol; }, [](auto a, auto b) { return a + b; }).count()); }
