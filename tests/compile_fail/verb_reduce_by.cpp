// form: from_trades.reduce_by(symbol_of, [](auto a, auto) { return a; }).count()
// message: query: reduce_by: is called aggregate_by: aggregate_by(key, sum(f), count())
// expect: query: reduce_by: is called aggregate_by: aggregate_by(key, sum(f), count())
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.reduce_by(symbol_of, [](auto a, auto) { return a; }).count()); }
