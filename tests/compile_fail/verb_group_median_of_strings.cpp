// form: from_trades.group_by(symbol_of).select([](auto g) { return g.median([](auto t) { return t.name; }); }).to_vector()
// message: query: median: these values are no numbers
// expect: query: median: these values are no numbers
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](auto g) { return g.median([](auto t) { return t.name; }); }).to_vector()); }
