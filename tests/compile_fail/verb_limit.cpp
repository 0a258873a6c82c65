// form: from_trades.limit(5).to_vector()
// message: query: limit: is called take: take(10)
// expect: query: limit: is called take: take(10)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.limit(5).to_vector()); }
