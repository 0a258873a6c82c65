// form: from_trades.group_by().count().to_vector()
// message: query: group_by: the key is missing: group_by([](auto t) { return t.symbol; })
// expect: query: group_by: the key is missing: group_by([](auto t) { return t.symbol; })
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by().count().to_vector()); }
