// form: query::from(3).count()
// message: query: from: takes a std::vector, std::array, std::span, a range with begin() and end(), or query::columns<Row>(...)
// expect: query: from: takes a std::vector, std::array, std::span, a range with begin() and end(), or query::columns<Row>(...)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(query::from(3).count()); }
