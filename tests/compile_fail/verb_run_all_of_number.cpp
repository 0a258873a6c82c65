// form: query::run_all(q, q.count())
// message: query: run_all: takes queries, values that are computed later, or what query::from takes
// expect: query: run_all: takes queries, values that are computed later, or what query::from takes
// expect-at-most: 1
#include "verb_rows.hpp"
#include <query/run_all.hpp>

void f() { (void)query::run_all(query::from(trades), query::from(trades).count()); }
