// form: from_trades.group_by(symbol_of).select([](auto g) { g.count(); }).to_vector()
// message: query: group_by(...).select, aggregate, reduce: the function gives nothing
// expect: query: group_by(...).select, aggregate, reduce: the function gives nothing
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](auto g) { g.count(); }).to_vector()); }
