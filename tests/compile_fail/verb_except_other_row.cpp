// form: from_trades.except(from_stocks).count()
// message: query: except: both queries must have the same row type. Use .select(...) on one of them
// expect: query: except: both queries must have the same row type. Use .select(...) on one of them
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.except(from_stocks).count()); }
