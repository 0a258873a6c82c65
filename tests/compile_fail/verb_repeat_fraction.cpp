// form: query::repeat(1, 0.5).count()
// message: query: repeat: takes a whole number of rows: repeat(value, 10)
// expect: query: repeat: takes a whole number of rows: repeat(value, 10)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(query::repeat(1, 0.5).count()); }
