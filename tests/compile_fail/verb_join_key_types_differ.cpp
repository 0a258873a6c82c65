// form: from_trades.join(from_stocks, [](auto t) { return t.name; }, symbol_of).to_vector()
// message: query: join: the two key functions give different types. Cast one of them (query::cast<T>)
// expect: query: join: the two key functions give different types. Cast one of them (query::cast<T>)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.join(from_stocks, [](auto t) { return t.name; }, symbol_of).to_vector()); }
