// form: from_trades.join(from_stocks, [](auto t) { return std::tuple(t.symbol, t.qty); }, [](auto s) { return std::tuple(s.symbol, s.sector); })
// message: query: join: the second parts of the two keys have different types. Take fields of one type, or convert one
// expect: query: join: the second parts of the two keys have different types. Take fields of one type, or convert one
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.join(from_stocks, [](auto t) { return std::tuple(t.symbol, t.qty); }, [](auto s) { return std::tuple(s.symbol, s.sector); })); }
