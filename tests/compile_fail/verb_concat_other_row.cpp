// form: from_trades.concat(from_stocks).count()
// message: query: concat: both queries must have the same row type. Use .select(...) on one of them
// expect: query: concat: both queries must have the same row type. Use .select(...) on one of them
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.concat(from_stocks).count()); }
