// form: from_trades != numbers
// message: query: operator==: queries are not compared by ==. Their rows are: a.sequence_equal(b)
// expect: query: operator==: queries are not compared by ==. Their rows are: a.sequence_equal(b)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades != numbers); }
