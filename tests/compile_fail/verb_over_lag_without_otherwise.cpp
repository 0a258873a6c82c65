// form: from_trades.over(symbol_of).select([](auto t, auto w) { return t.symbol - w.lag(symbol_of); }).count()
// The member gives a std::optional, which has no arithmetic: the error is the compiler's own, at the user's line.
// expect-gcc: no match for
// expect-clang: invalid operands to binary expression
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.over(symbol_of).select([](auto t, auto w) { return t.symbol - w.lag(symbol_of); }).count()); }
