// form: from_plains.describe()
// message: query: describe: the row type, or one of its fields, has no description
// expect: query: describe: the row type, or one of its fields, has no description
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_plains.describe()); }
