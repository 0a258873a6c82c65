// form: from_trades.join(stocks, symbol_of, symbol_of, [](const auto& t, const auto& s) { return std::variant<int, std::string_view>(t.name); }).to_vector()
// message: query: join: the function gives a container, std::variant or range of views
// expect: query: join: the function gives a container, std::variant or range of views
// expect-at-most: 1
#include "verb_rows.hpp"
#include <variant>

void f() {
  (void)(from_trades.join(stocks, symbol_of, symbol_of,
                          [](const Trade& t, const Stock&) { return std::variant<int, std::string_view>(t.name); }).to_vector());
}
