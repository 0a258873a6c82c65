// form: numbers.on_progress([](std::string) {}).count()
// message: query: on_progress: the function must take a double
// expect: query: on_progress: the function must take a double
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(numbers.on_progress([](std::string) {}).count()); }
