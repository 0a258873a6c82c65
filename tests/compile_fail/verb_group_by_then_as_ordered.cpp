// form: from_trades.group_by(symbol_of).as_ordered().count()
// message: query: group_by(key).as_ordered: write it behind what becomes of the groups: group_by(key).select(...).as_ordered()
// expect: query: group_by(key).as_ordered: write it behind what becomes of the groups: group_by(key).select(...).as_ordered()
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).as_ordered().count()); }
