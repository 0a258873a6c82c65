// form: from_trades.approx_quantile([](auto t) { return t.name; }, 0.5)
// message: query: approx_quantile: these values are no numbers
// expect: query: approx_quantile: these values are no numbers
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.approx_quantile([](auto t) { return t.name; }, 0.5)); }
