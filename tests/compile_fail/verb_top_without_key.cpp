// form: from_trades.top(3).to_vector()
// message: query: top: the key is missing. Say by which field rows are compared: top(10, [](auto t) { return t.price; })
// expect: query: top: the key is missing. Say by which field rows are compared: top(10, [](auto t) { return t.price; })
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.top(3).to_vector()); }
