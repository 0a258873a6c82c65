// form: from_trades.sequence_equal(trades)
// message: query: sequence_equal: these rows have no == with the elements of that range
// expect: query: sequence_equal: these rows have no == with the elements of that range
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.sequence_equal(trades)); }
