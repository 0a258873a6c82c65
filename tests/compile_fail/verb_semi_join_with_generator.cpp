// form: from_trades.semi_join(std::ranges::istream_view<int>(in), symbol_of, itself)
// message: query: semi_join: the other rows must be a query, or what query::from takes: a container, or a range that can be read again
// expect: query: semi_join: the other rows must be a query, or what query::from takes: a container, or a range that can be read again
// expect-at-most: 1
#include "verb_rows.hpp"
#include <ranges>
#include <sstream>

void f() { std::istringstream in; (void)(from_trades.semi_join(std::ranges::istream_view<int>(in), symbol_of, [](auto x) { return x; })); }
