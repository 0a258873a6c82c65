// form: from_trades.group_by(symbol_of).select([](const query::Group<std::string, Trade>& g) { return g.count(); }).to_vector()
// message: query: group_by(...).select: the function must take `auto g`
// expect: query: group_by(...).select: the function must take `auto g`
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](const query::Group<std::string, Trade>& g) { return g.count(); }).to_vector()); }
