// form: from_trades.sequence_equal(from_trades)
// message: query: sequence_equal: rows of this type have no ==
// expect: query: sequence_equal: rows of this type have no ==
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.sequence_equal(from_trades)); }
