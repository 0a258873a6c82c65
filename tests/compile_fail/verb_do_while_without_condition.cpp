// form: numbers.do_while([](auto q) { return q; }).count()
// message: query: do_while: takes the body and a condition: do_while(body, query::times(10))
// expect: query: do_while: takes the body and a condition: do_while(body, query::times(10))
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(numbers.do_while([](auto q) { return q; }).count()); }
