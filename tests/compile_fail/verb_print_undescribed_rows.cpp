// form: from_plains.print()
// message: query: print: the row type, or one of its fields, has no description. Write QUERY_RECORD(Row, field, ...); after the struct
// expect: query: print: the row type, or one of its fields, has no description. Write QUERY_RECORD(Row, field, ...); after the struct
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_plains.print()); }
