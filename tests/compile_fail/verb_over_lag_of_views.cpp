// form: from_trades.over(symbol_of).order_by(symbol_of).select([](const auto&, const auto& w) { return w.lag([](const Trade& t) { return std::variant<int, std::string_view>(t.name); }, 1).has_value(); }).to_vector()
// message: query: over: a function that a window's member takes gives a container
// expect: query: over: a function that a window's member takes gives a container
// expect-at-most: 2
#include "verb_rows.hpp"
#include <variant>

void f() {
  (void)from_trades.over(symbol_of).order_by(symbol_of)
             .select([](const auto&, const auto& w) { return w.lag(
             [](const Trade& t) { return std::variant<int, std::string_view>(t.name); }, 1).has_value(); }).to_vector();
}
