// form: from_trades.union_with(from_stocks).count()
// message: query: union_with: both queries must have the same row type. Use .select(...) on one of them
// expect: query: union_with: both queries must have the same row type. Use .select(...) on one of them
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.union_with(from_stocks).count()); }
