// form: numbers.contains(1, [](int a) { return a; })
// message: query: contains: the equality must take two rows and give bool: contains(value, equal)
// expect: query: contains: the equality must take two rows and give bool: contains(value, equal)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(numbers.contains(1, [](int a) { return a; })); }
