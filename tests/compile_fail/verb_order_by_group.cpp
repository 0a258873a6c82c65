// form: from_trades.group_by(symbol_of).order_by([](const auto& g) { return g; }).count()
// message: query: order_by: a query::Group, which holds rows, is no key. Its own key is one: [](const auto& g) { return g.key(); }
// expect: query: order_by: a query::Group, which holds rows, is no key. Its own key is one: [](const auto& g) { return g.key(); }
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).order_by([](const auto& g) { return g; }).count()); }
