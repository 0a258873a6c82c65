// form: from_trades.aggregate(0, [](int s, const Trade& t) { return s + t.qty; }, [](int a) { return a; })
// message: query: aggregate: combine must take two states and give one
// expect: query: aggregate: combine must take two states and give one
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.aggregate(0, [](int s, const Trade& t) { return s + t.qty; }, [](int a) { return a; })); }
