// form: from_trades.aggregate_by(symbol_of, [](auto t) { return t.qty; }, query::aggregates::count(), query::aggregates::sum(symbol_of)).count()
// message: query: aggregate_by: takes one key, then functions of query::aggregates: aggregate_by(key, sum(f), count()). Several fields are one key
// expect: query: aggregate_by: takes one key, then functions of query::aggregates: aggregate_by(key, sum(f), count()). Several fields are one key
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.aggregate_by(symbol_of, [](auto t) { return t.qty; }, query::aggregates::count(), query::aggregates::sum(symbol_of)).count()); }
