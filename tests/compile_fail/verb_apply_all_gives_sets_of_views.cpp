// form: from_trades.apply_all([](std::span<const Trade>) { return std::vector<std::set<std::string_view>>{}; })
// message: query: apply_all: the function gives a container, std::variant or range of views
// expect: query: apply_all: the function gives a container, std::variant or range of views
// expect-at-most: 1
#include "verb_rows.hpp"
#include <set>

void f() {
  (void)from_trades.apply_all([](std::span<const Trade>) { return std::vector<std::set<std::string_view>>{}; });
}
