// form: from_trades.aggregate(0, [](int s, const Trade& t) { return std::to_string(s) + t.name; }, [](int a, int b) { return a + b; })
// message: query: aggregate: update must take (state, row) and give the state's type, which is the seed's
// expect: query: aggregate: update must take (state, row) and give the state's type, which is the seed's
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.aggregate(0, [](int s, const Trade& t) { return std::to_string(s) + t.name; }, [](int a, int b) { return a + b; })); }
