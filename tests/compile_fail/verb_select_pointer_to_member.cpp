// form: from_trades.select(&Trade::price).to_vector()
// message: query: select: takes a function, not a pointer to a member. Write [](auto t) { return t.field; }
// expect: query: select: takes a function, not a pointer to a member. Write [](auto t) { return t.field; }
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.select(&Trade::price).to_vector()); }
