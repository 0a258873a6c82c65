// form: from_trades.flat_map([](auto t) { return std::array{t.qty, t.symbol}; }).sum()
// message: query: flat_map: is called select_many: select_many([](const auto& t) { return t.items; })
// expect: query: flat_map: is called select_many: select_many([](const auto& t) { return t.items; })
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.flat_map([](auto t) { return std::array{t.qty, t.symbol}; }).sum()); }
