// form: from_trades.left_join(from_stocks, symbol_of, symbol_of).where([](auto p) { return p.second.symbol == 3; }).count()
// message: query: where: the function does not compile for these rows, as said above. They are, or hold, a std::optional, empty without a match: test it before its fields, `if (!p.second) return ...;`
// expect-gcc: has no member named
// expect-clang: no member named 'symbol' in 'std::optional<Stock>'
// expect: query: where: the function does not compile for these rows, as said above. They are, or hold, a std::optional, empty without a match: test it before its fields, `if (!p.second) return ...;`
// expect-at-most: 2
#include "verb_rows.hpp"

void f() { (void)(from_trades.left_join(from_stocks, symbol_of, symbol_of).where([](auto p) { return p.second.symbol == 3; }).count()); }
