// form: from_trades.join_where(from_trades, [](auto l, auto r) { return l.qty - r.qty; })
// message: query: join_where: the predicate gives a number and must give bool
// expect: query: join_where: the predicate gives a number and must give bool
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.join_where(from_trades, [](const auto& l, const auto& r) { return l.qty - r.qty; }).count()); }
