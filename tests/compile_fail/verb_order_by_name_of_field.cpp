// form: from_trades.order_by(std::string("price")).to_vector()
// message: query: order_by: takes a function, not the name of a field. Write [](auto t) { return t.field; }
// expect: query: order_by: takes a function, not the name of a field. Write [](auto t) { return t.field; }
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.order_by(std::string("price")).to_vector()); }
