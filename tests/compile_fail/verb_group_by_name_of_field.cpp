// form: from_trades.group_by("symbol").count()
// message: query: group_by: takes a function, not the name of a field. Write [](auto t) { return t.field; }
// expect: query: group_by: takes a function, not the name of a field. Write [](auto t) { return t.field; }
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by("symbol").count()); }
