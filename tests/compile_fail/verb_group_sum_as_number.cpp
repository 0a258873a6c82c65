// form: from_trades.group_by(symbol_of).select([](auto g) { const double x = g.sum([](auto t) { return t.price; }); return std::pair(g.key(), x); }).to_vector()
// message: query: an aggregate is no number yet, as the groups are finished later. Keep it as it is, `auto x = g.sum(f)`
// expect: query: an aggregate is no number yet, as the groups are finished later. Keep it as it is, `auto x = g.sum(f)`
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](auto g) { const double x = g.sum([](auto t) { return t.price; }); return std::pair(g.key(), x); }).to_vector()); }
