// form: from_trades.group_by(symbol_of).select([](auto g) { return g.where([](auto t) { return t.qty > 1; }).sum([](auto t) { return t.price; }); })
// message: query: where: a group has aggregates only. Choose rows within one: g.count(p)
// expect: query: where: a group has aggregates only. Choose rows within one: g.count(p)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](auto g) { return g.where([](auto t) { return t.qty > 1; }).sum([](auto t) { return t.price; }); })); }
