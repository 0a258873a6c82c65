// form: from_trades.do_while([](query::Query<Trade> q) { return q; }, 3).count()
// message: query: do_while: the condition must be (Query<Row> previous, Query<Row> next) -> Value<bool>
// expect: query: do_while: the condition must be (Query<Row> previous, Query<Row> next) -> Value<bool>
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.do_while([](query::Query<Trade> q) { return q; }, 3).count()); }
