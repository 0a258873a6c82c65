// form: from_trades.where([](auto t, std::int64_t) { return t.name; }).count()
// message: query: where: the predicate must give bool
// expect: query: where: the predicate must give bool
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.where([](auto t, std::int64_t) { return t.name; }).count()); }
