// form: from_trades.aggregate_by(symbol_of, std::set<std::string_view>{}, [](auto m, const Trade& t) { return m.insert(t.name), m; }, [](auto a, auto) { return a; })
// message: query: aggregate_by: the state is a container or std::variant of views
// expect: query: aggregate_by: the state is a container or std::variant of views
// expect-at-most: 1
#include "verb_rows.hpp"
#include <set>

void f() {
  (void)from_trades.aggregate_by(symbol_of, std::set<std::string_view>{},
             [](auto m, const Trade& t) { return m.insert(t.name), m; }, [](auto a, auto) { return a; });
}
