// form: from_trades.group_by(symbol_of).elements([](const Trade& t) { return std::variant<int, std::string_view>(t.name); }).to_vector()
// message: query: elements: the function gives a container, std::variant or range of views
// expect: query: elements: the function gives a container, std::variant or range of views
// expect-at-most: 1
#include "verb_rows.hpp"
#include <variant>

void f() {
  (void)from_trades.group_by(symbol_of).elements([](const Trade& t) { return std::variant<int, std::string_view>(t.name); }).to_vector();
}
