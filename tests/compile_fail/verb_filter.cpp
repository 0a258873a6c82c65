// form: from_trades.filter([](auto t) { return t.qty > 3; }).count()
// message: query: filter: is called where: where([](auto t) { return t.qty > 100; })
// expect: query: filter: is called where: where([](auto t) { return t.qty > 100; })
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.filter([](auto t) { return t.qty > 3; }).count()); }
