// form: from_trades.over(symbol_of).select([](auto, auto w) { return w.sum([](const Trade& t) { return t.nope; }); }).count()
// message: ‘const struct Trade’ has no member named ‘nope’
// expect: nope
// expect-at-most: 2
#include "verb_rows.hpp"

void f() { (void)(from_trades.over(symbol_of).select([](auto, auto w) { return w.sum([](const Trade& t) { return t.nope; }); }).count()); }
