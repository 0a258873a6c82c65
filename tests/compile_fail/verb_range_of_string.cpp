// form: query::range(std::string("a"), 3).count()
// message: query: range: takes the first number and how many there are: range(0, 10)
// expect: query: range: takes the first number and how many there are: range(0, 10)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(query::range(std::string("a"), 3).count()); }
