// form: from_trades.aggregate(0, [](auto s, const Trade& t) { return s + std::int64_t{t.qty}; }, [](auto a, auto b) { return a + b; })
// message: query: aggregate: update must take (state, row) and give the state's type, which is the seed's. Write the seed in that type: 0.0, std::int64_t{0}
// expect: query: aggregate: update must take (state, row) and give the state's type, which is the seed's. Write the seed in that type: 0.0, std::int64_t{0}
// expect-at-most: 1
#include "verb_rows.hpp"

void f() {
  (void)from_trades.aggregate(0, [](auto s, const Trade& t) { return s + std::int64_t{t.qty}; }, [](auto a, auto b) { return a + b; });
}
