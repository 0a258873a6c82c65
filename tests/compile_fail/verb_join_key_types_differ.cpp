// form: from_trades.join(from_stocks, [](auto t) { return t.name; }, symbol_of).to_vector()
// message: query: join: the two key functions give different types. Compare fields of one type, or convert one key: query::to_string(t.number) or query::parse<int>(t.text)
// expect: query: join: the two key functions give different types. Compare fields of one type, or convert one key: query::to_string(t.number) or query::parse<int>(t.text)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.join(from_stocks, [](auto t) { return t.name; }, symbol_of).to_vector()); }
