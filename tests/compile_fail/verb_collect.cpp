// form: from_trades.collect()
// message: query: collect: is called to_vector
// expect: query: collect: is called to_vector
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.collect()); }
