// form: query::from(query::columns<Stock>(std::vector<double>(), std::vector<std::string>())).count()
// message: query: columns: each vector must have its field's type (std::uint8_t for bool), in the order of QUERY_RECORD
// expect: query: columns: each vector must have its field's type (std::uint8_t for bool), in the order of QUERY_RECORD
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(query::from(query::columns<Stock>(std::vector<double>(), std::vector<std::string>())).count()); }
