// form: from_trades.left_join(from_stocks, symbol_of, symbol_of, [](auto l, auto r) { return l.qty + r.symbol; }).count()
// message: query: left_join: the result function does not compile for (left row, std::optional<right row>), as said above. Test an optional row before its fields: `if (!r) return ...;`
// expect-gcc: has no member named
// expect-clang: no member named 'symbol' in 'std::optional<Stock>'
// expect: query: left_join: the result function does not compile for (left row, std::optional<right row>), as said above. Test an optional row before its fields: `if (!r) return ...;`
// expect-at-most: 2
#include "verb_rows.hpp"

void f() { (void)(from_trades.left_join(from_stocks, symbol_of, symbol_of, [](auto l, auto r) { return l.qty + r.symbol; }).count()); }
