// form: query::from(query::columns<Plain>(std::vector<int>())).count()
// message: query: columns: the row type must be a record. Write QUERY_RECORD(Row, field, ...); after the struct
// expect: query: columns: the row type must be a record. Write QUERY_RECORD(Row, field, ...); after the struct
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(query::from(query::columns<Plain>(std::vector<int>())).count()); }
