// form: from_trades.max_by([](const Trade& t) { return t; })
// message: query: max_by: these values have no <. Give a number or a string (`max_by(f)`), or the record an `auto operator<=>(const Row&) const = default`
// expect: query: max_by: these values have no <. Give a number or a string (`max_by(f)`), or the record an `auto operator<=>(const Row&) const = default`
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.max_by([](const Trade& t) { return t; })); }
