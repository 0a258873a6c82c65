// form: from_trades.group_by(symbol_of).select([](auto g) { return std::tuple(g.key(), g.mean()); }).to_vector()
// message: query: mean: these values are no numbers. Say which number of the row is meant: mean([](auto t) { return t.price; })
// expect: query: mean: these values are no numbers. Say which number of the row is meant: mean([](auto t) { return t.price; })
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](auto g) { return std::tuple(g.key(), g.mean()); }).to_vector()); }
