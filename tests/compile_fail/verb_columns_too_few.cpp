// form: query::from(query::columns<Stock>(std::vector<int>())).count()
// message: query: columns: one vector for each field of Row, in the order of QUERY_RECORD
// expect: query: columns: one vector for each field of Row, in the order of QUERY_RECORD
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(query::from(query::columns<Stock>(std::vector<int>())).count()); }
