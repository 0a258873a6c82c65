// form: from_trades.do_while([](auto q) { return q; }, [](std::span<const Trade> p, std::span<const Trade>) { return p[0].prize > 0; }).count()
// message: the compiler: no member named 'prize', and nothing else
// expect-gcc: has no member named
// expect-clang: no member named 'prize'
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.do_while([](auto q) { return q; }, [](std::span<const Trade> p, std::span<const Trade>) { return p[0].prize > 0; }).count()); }
