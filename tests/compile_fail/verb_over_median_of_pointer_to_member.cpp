// form: from_trades.over(symbol_of).select([](auto, auto w) { return w.median(&Trade::price); }).count()
// message: query: over: the members of a window take a function, not a pointer to a member. Write w.sum([](auto t) { return t.field; })
// expect: query: over: the members of a window take a function, not a pointer to a member. Write w.sum([](auto t) { return t.field; })
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.over(symbol_of).select([](auto, auto w) { return w.median(&Trade::price); }).count()); }
