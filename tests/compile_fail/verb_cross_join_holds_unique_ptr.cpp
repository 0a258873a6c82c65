// form: from_trades.cross_join(from_stocks, [p = std::make_unique<int>(3)](auto t, auto s) { return t.qty + s.symbol + *p; })
// message: query: cross_join: the function holds what cannot be copied, such as a std::unique_ptr, and queries copy their functions...
// expect: query: cross_join: the function holds what cannot be copied, such as a std::unique_ptr, and queries copy their functions.
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.cross_join(from_stocks, [p = std::make_unique<int>(3)](auto t, auto s) { return t.qty + s.symbol + *p; })); }
