// form: from_trades.over(symbol_of).select([](auto, auto w) { return w.fill_forward(symbol_of); }).count()
// message: query: over: fill_forward and fill_backward take a function that gives a std::optional: other values are never null
// expect: query: over: fill_forward and fill_backward take a function that gives a std::optional: other values are never null
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.over(symbol_of).select([](auto, auto w) { return w.fill_forward(symbol_of); }).count()); }
