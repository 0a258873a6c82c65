// The container is moved into the query, which may be returned.
// expect-success
// expect-flag: -Werror
#include "verb_rows.hpp"

query::Query<int> f() {
  std::vector<int> rows{1, 2};
  return query::from(std::move(rows)).where([](auto x) { return x > 1; });
}
query::Query<Trade> g(std::vector<int> symbols) {
  return query::from(query::columns<Trade>(std::move(symbols), std::vector<double>(), std::vector<int>(), std::vector<std::string>()));
}
