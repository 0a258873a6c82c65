// form: from_trades.select([](auto t) { return query::no_such(t.qty); }).to_vector()
// message: no_such
// expect: no_such
// expect-at-most: 2
#include "verb_rows.hpp"

void f() { (void)(from_trades.select([](auto t) { return query::no_such(t.qty); }).to_vector()); }
