// form: from_plains.where("number > 3").count()
// message: query: a text names fields of its row, which needs a QUERY_RECORD, right after the struct
// expect: query: a text names fields of its row, which needs a QUERY_RECORD, right after the struct
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_plains.where("number > 3").count()); }
