// form: query::value_of(3).count()
// message: query: value_of: takes a query, or what query::from takes: a container, or a range that can be read again
// expect: query: value_of: takes a query, or what query::from takes: a container, or a range that can be read again
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(query::value_of(3).count()); }
