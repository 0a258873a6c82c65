// form: numbers.select([](auto x) { return std::optional(x); }).append(2.5).count()
// message: query: append: the value must be a row of this query (or convert to one)
// expect: query: append: the value must be a row of this query (or convert to one)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(numbers.select([](auto x) { return std::optional(x); }).append(2.5).count()); }
