// form: from_stocks.order_by(itself, [](const auto& a, const auto& b) { return a.prize < b.symbol; }).count()
// message: the compiler: no member named 'prize', and nothing else
// expect-gcc: has no member named
// expect-clang: no member named 'prize'
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_stocks.order_by(itself, [](const auto& a, const auto& b) { return a.prize < b.symbol; }).count()); }
