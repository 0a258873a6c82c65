// form: from_trades.aggregate(std::string(), [](auto s, const Trade& t) { return s += t.name, s; }, [](auto a, auto) { return a; }, [](const auto& s) { return std::set<std::string_view>{s}; })
// message: query: aggregate: the result is a container or std::variant of views
// expect: query: aggregate: the result is a container or std::variant of views
// expect-at-most: 1
#include "verb_rows.hpp"
#include <set>

void f() {
  (void)from_trades.aggregate(
      std::string(),
      [](auto s, const Trade& t) { return s += t.name, s; }, [](auto a, auto) { return a; },
      [](const auto& s) { return std::set<std::string_view>{s}; });
}
