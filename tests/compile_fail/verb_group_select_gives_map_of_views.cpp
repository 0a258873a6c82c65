// form: from_trades.group_by(symbol_of).select([](const query::Group<int, Trade>& g) { return std::map<std::string_view, int>{{g.first().name, 1}}; }).to_vector()
// message: query: group_by(...).select: the function gives a container, std::variant or range of views
// expect: query: group_by(...).select: the function gives a container, std::variant or range of views
// expect-at-most: 1
#include "verb_rows.hpp"
#include <map>

void f() {
  (void)(from_trades.group_by(symbol_of)
             .select([](const query::Group<int, Trade>& g) { return std::map<std::string_view, int>{{g.first().name, 1}}; })
             .to_vector());
}
