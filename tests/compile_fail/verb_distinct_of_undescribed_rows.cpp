// form: from_plains.distinct().count()
// message: query: distinct: this key type has no description to compare and hash by
// expect: query: distinct: this key type has no description to compare and hash by
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_plains.distinct().count()); }
