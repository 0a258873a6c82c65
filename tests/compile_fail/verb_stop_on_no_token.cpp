// form: numbers.stop_on(3).count()
// message: query: stop_on: takes a stop token
// expect: query: stop_on: takes a stop token
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(numbers.stop_on(3).count()); }
