// form: from_trades.aggregate(0.0, [](double s, auto t) { return s + t.price; }, [n = 0](double a, double b) mutable { return ++n, a + b; })
// message: query: aggregate: combine must take two states and give one
// expect: query: aggregate: combine must take two states and give one
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.aggregate(0.0, [](double s, auto t) { return s + t.price; }, [n = 0](double a, double b) mutable { return ++n, a + b; })); }
