// form: from_trades.group_by(symbol_of).select([](auto g) { return g.distinct([](auto t) { return t.qty; }); })
// message: query: distinct: a group has aggregates only, such as g.count_distinct(f). Verbs over its rows: [](const query::Group<Key, Row>& g) { return query::from(g.rows()).distinct...
// expect: query: distinct: a group has aggregates only, such as g.count_distinct(f). Verbs over its rows: [](const query::Group<Key, Row>& g) { return query::from(g.rows()).distinct...
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](auto g) { return g.distinct([](auto t) { return t.qty; }); })); }
