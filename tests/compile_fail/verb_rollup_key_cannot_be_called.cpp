// form: from_trades.group_by(query::rollup([](int day) { return day; }))
// message: query: group_by: the function cannot be called with a row of this query
// expect: query: group_by: the function cannot be called with a row of this query
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(query::rollup([](int day) { return day; })).count().count()); }
