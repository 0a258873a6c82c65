// form: from_trades.window([](std::span<const Trade> r) { return r.size(); }, 3).count()
// message: query: window: takes a whole number of rows, from 1
// expect: query: window: takes a whole number of rows, from 1
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.window([](std::span<const Trade> r) { return r.size(); }, 3).count()); }
