// form: from_trades.group_by(symbol_of).select([](const query::Group<int, Trade>& g) { return g.arg_max([](auto t) { return t.qty; }, [](int a) { return a > 1; }); }).to_vector()
// message: query: arg_max: the order must take two keys and give bool: arg_max(f, less)
// expect: query: arg_max: the order must take two keys and give bool: arg_max(f, less)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](const query::Group<int, Trade>& g) { return g.arg_max([](auto t) { return t.qty; }, [](int a) { return a > 1; }); }).to_vector()); }
