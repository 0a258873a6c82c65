// form: from_trades.group_by(symbol_of).timeout(3).to_vector()
// message: query: group_by(key).timeout: write it behind what becomes of the groups: group_by(key).select(...).timeout(...)
// expect: query: group_by(key).timeout: write it behind what becomes of the groups: group_by(key).select(...).timeout(...)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).timeout(3).to_vector()); }
