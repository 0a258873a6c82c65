// form: from_trades.group_by(symbol_of).print()
// message: query: group_by(key).print: say what becomes of each group first
// expect: query: group_by(key).print: say what becomes of each group first
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).print()); }
