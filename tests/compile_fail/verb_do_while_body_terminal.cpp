// form: from_trades.do_while([](query::Query<Trade> q) { return q.count(); }, query::times(3)).count()
// message: query: do_while: the body must give a query with the loop's own row type
// expect: query: do_while: the body must give a query with the loop's own row type
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.do_while([](query::Query<Trade> q) { return q.count(); }, query::times(3)).count()); }
