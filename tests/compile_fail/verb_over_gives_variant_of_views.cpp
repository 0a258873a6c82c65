// form: from_trades.over(symbol_of).select([](const Trade& t, const auto&) { return std::variant<int, std::string_view>(t.name); }).to_vector()
// message: query: over: the function gives a container, std::variant or range of views
// expect: query: over: the function gives a container, std::variant or range of views
// expect-at-most: 1
#include "verb_rows.hpp"
#include <variant>

void f() {
  (void)from_trades.over(symbol_of).select(
             [](const Trade& t, const auto&) { return std::variant<int, std::string_view>(t.name); }).to_vector();
}
