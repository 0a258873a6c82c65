// form: from_stocks.distinct_by(itself, [](const auto& a, const auto& b) { return a.symbol == b.symbol; }, [](const auto& a) { return a.prize; }).count()
// message: the compiler: no member named 'prize', and nothing else
// expect-gcc: has no member named
// expect-clang: no member named 'prize'
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_stocks.distinct_by(itself, [](const auto& a, const auto& b) { return a.symbol == b.symbol; }, [](const auto& a) { return a.prize; }).count()); }
