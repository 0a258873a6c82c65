// form: numbers.values().to_vector()
// message: query: values: these rows are never null
// expect: query: values: these rows are never null
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(numbers.values().to_vector()); }
