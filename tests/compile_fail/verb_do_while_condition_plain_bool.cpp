// form: from_trades.do_while([](query::Query<Trade> q) { return q; }, [](query::Query<Trade> a, query::Query<Trade> b) { return a.count() != b.count(); }).count()
// message: query: do_while: the condition must give query::Value<bool>, such as query::value_of(next).sum() > 10
// expect: query: do_while: the condition must give query::Value<bool>, such as query::value_of(next).sum() > 10
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.do_while([](query::Query<Trade> q) { return q; }, [](query::Query<Trade> a, query::Query<Trade> b) { return a.count() != b.count(); }).count()); }
