// form: from_trades.group_by(symbol_of).select([](auto g) { return g.top_k_frequent([](auto t) { return t.name; }, 2.5); }).to_vector()
// message: query: top_k_frequent: takes the function and then how many values
// expect: query: top_k_frequent: takes the function and then how many values
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](auto g) { return g.top_k_frequent([](auto t) { return t.name; }, 2.5); }).to_vector()); }
