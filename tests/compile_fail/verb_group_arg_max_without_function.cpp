// form: from_trades.group_by(symbol_of).select([](auto g) { return std::pair(g.key(), g.arg_max()); }).to_vector()
// message: query: arg_max: the function is missing: g.arg_max([](auto t) { return t.price; }), the row whose price it is. The value alone: g.max(
// expect: query: arg_max: the function is missing: g.arg_max([](auto t) { return t.price; }), the row whose price it is. The value alone: g.max(
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](auto g) { return std::pair(g.key(), g.arg_max()); }).to_vector()); }
