// form: from_trades.over(symbol_of).select([](auto, auto w) { return w.sum("price"); }).count()
// message: query: over: the members of a window take a function of a row, as in w.sum([](auto t) { return t.price; }), not a value
// expect: query: over: the members of a window take a function of a row, as in w.sum([](auto t) { return t.price; }), not a value
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.over(symbol_of).select([](auto, auto w) { return w.sum("price"); }).count()); }
