// form: from_trades.group_by(symbol_of).select([](auto g) { return g.max(); }).to_vector()
// message: query: max: these values have no <
// expect: query: max: these values have no <
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](auto g) { return g.max(); }).to_vector()); }
