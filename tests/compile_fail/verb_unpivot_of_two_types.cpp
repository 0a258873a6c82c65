// form: from_trades.unpivot(symbol, query::field("qty", qty), query::field("name", [](const auto&) { return std::string(); }))
// message: query: unpivot: the fields have no common type
// expect: query: unpivot: the fields have no common type
// expect-at-most: 1
#include "verb_rows.hpp"

void f() {
  (void)(from_trades.unpivot([](const auto& t) { return t.symbol; }, query::field("qty", [](const auto& t) { return t.qty; }),
                             query::field("name", [](const auto&) { return std::string(); })).count());
}
