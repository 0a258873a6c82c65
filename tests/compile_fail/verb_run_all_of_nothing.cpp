// form: query::run_all()
// message: query: run_all: the queries are missing
// expect: query: run_all: the queries are missing
// expect-at-most: 1
#include "verb_rows.hpp"
#include <query/run_all.hpp>

void f() { (void)query::run_all(); }
