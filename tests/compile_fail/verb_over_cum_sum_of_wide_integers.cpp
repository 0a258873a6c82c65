// form: from_trades.over(symbol_of).order_by(symbol_of).select([](const auto&, const auto& w) { return w.cum_sum([](const Trade& t) { return static_cast<__int128>(t.qty); }); }).to_vector()
// message: query: over: sums, means and the like take numbers of up to 64 bits
// expect: query: over: sums, means and the like take numbers of up to 64 bits
// expect-at-most: 2
// expect-flag: -std=gnu++20
#include "verb_rows.hpp"

void f() {
  (void)from_trades.over(symbol_of).order_by(symbol_of)
             .select([](const auto&, const auto& w) { return w.cum_sum(
             [](const Trade& t) { return static_cast<__int128>(t.qty); }); }).to_vector();
}
