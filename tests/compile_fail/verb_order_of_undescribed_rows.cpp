// form: from_plains.order().to_vector()
// message: query: order: this key type has no order that the library knows
// expect: query: order: this key type has no order that the library knows
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_plains.order().to_vector()); }
