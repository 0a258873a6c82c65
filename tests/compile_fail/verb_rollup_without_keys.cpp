// form: from_trades.group_by(query::rollup())
// message: query: rollup, cube, grouping_sets: the keys are missing
// expect: query: rollup, cube, grouping_sets: the keys are missing
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)query::rollup(); }
