// form: numbers.contains(2.5)
// message: query: contains: the value must be a row of this query (or convert to one)
// expect: query: contains: the value must be a row of this query (or convert to one)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(numbers.contains(2.5)); }
