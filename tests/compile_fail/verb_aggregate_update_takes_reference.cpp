// form: from_trades.aggregate(0.0, [](auto& s, const auto& t) { return s + t.price; }, [](double a, double b) { return a + b; })
// message: query: aggregate: update must take (state, row) and give the state's type
// expect: query: aggregate: update must take (state, row) and give the state's type
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.aggregate(0.0, [](auto& s, const auto& t) { return s + t.price; }, [](double a, double b) { return a + b; })); }
