// form: from_trades.group_by(symbol_of).sum([](auto t) { return t.price; })
// message: query: group_by(key).sum: say what becomes of each group first: group_by(key).select([](auto g)
// expect: query: group_by(key).sum: say what becomes of each group first: group_by(key).select([](auto g)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).sum([](auto t) { return t.price; })); }
