// form: from_trades.over(symbol_of).select([](auto, auto w) { return w.sum([](const Trade& t) { (void)t; }); }).count()
// message: query: over: a function that a window's member takes gives nothing. Return a value
// expect: query: over: a function that a window's member takes gives nothing. Return a value
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.over(symbol_of).select([](auto, auto w) { return w.sum([](const Trade& t) { (void)t; }); }).count()); }
