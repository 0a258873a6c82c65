// form: from_trades.group_by(symbol_of).select([](auto g) { return g.sum([](auto t) { return t.prize; }); }).to_vector()
// message: the compiler: no member named 'prize', and nothing else
// expect-gcc: has no member named
// expect-clang: no member named 'prize'
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](auto g) { return g.sum([](auto t) { return t.prize; }); }).to_vector()); }
