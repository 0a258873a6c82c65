// form: from_trades.to_map(symbol_of, [](const Trade& t) { return std::set<std::string_view>{t.name}; })
// message: query: to_map: the function gives a container, std::variant or range of views
// expect: query: to_map: the function gives a container, std::variant or range of views
// expect-at-most: 1
#include "verb_rows.hpp"
#include <set>

void f() {
  (void)from_trades.to_map(symbol_of, [](const Trade& t) { return std::set<std::string_view>{t.name}; });
}
