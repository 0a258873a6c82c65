// form: from_trades.aggregate(std::map<std::string_view, int>{}, [](auto m, const Trade& t) { return ++m[t.name], m; }, [](auto a, auto) { return a; })
// message: query: aggregate: the state is a container or std::variant of views
// expect: query: aggregate: the state is a container or std::variant of views
// expect-at-most: 1
#include "verb_rows.hpp"
#include <map>

void f() {
  (void)from_trades.aggregate(std::map<std::string_view, int>{},
             [](auto m, const Trade& t) { return ++m[t.name], m; }, [](auto a, auto) { return a; });
}
