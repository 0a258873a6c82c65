// form: from_trades.group_by(symbol_of).select([](auto a, auto) { return a.count(); }).to_vector()
// message: the function must take the group, `auto g`, and not be `mutable`
// expect: the function must take the group, `auto g`, and not be `mutable`
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](auto a, auto) { return a.count(); }).to_vector()); }
