// form: query::to_arrow(query::from(std::vector<double>{}), static_cast<ArrowArrayStream*>(nullptr))
// message: query: from_arrow, to_arrow: the rows must be records. Write QUERY_RECORD(Row, field, ...); after the struct
// expect: query: from_arrow, to_arrow: the rows must be records. Write QUERY_RECORD(Row, field, ...); after the struct
// expect-at-most: 1
#include "verb_rows.hpp"

#include <query/arrow.hpp>

void f() { (void)(query::to_arrow(query::from(std::vector<double>{}), static_cast<ArrowArrayStream*>(nullptr))); }
