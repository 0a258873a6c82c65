// form: from_trips.where([](auto t) -> bool { return t.name > 3; }).count()
// message: the compiler: no match for operator>, of the plain row; query: a text is compared with a number. Compare it with a text
// expect-gcc: query: a text is compared with a number. Compare it with a text
// expect-clang: invalid operands to binary expression
// expect-at-most: 2
#include "verb_time_rows.hpp"

void f() { (void)(from_trips.where([](auto t) -> bool { return t.name > 3; }).count()); }
