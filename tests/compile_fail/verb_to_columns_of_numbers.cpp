// form: numbers.to_columns()
// message: query: to_columns: the rows must be records. Write QUERY_RECORD(Row, field, ...); after the struct
// expect: query: to_columns: the rows must be records. Write QUERY_RECORD(Row, field, ...); after the struct
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(numbers.to_columns()); }
