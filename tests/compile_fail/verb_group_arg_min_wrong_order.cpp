// form: from_trades.group_by(symbol_of).select([](auto g) { return g.arg_min([](auto t) { return t.qty; }, [](int a) { return a > 1; }); }).to_vector()
// message: query: arg_min: the order must take two keys and give bool: arg_min(f, less)
// expect: query: arg_min: the order must take two keys and give bool: arg_min(f, less)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](auto g) { return g.arg_min([](auto t) { return t.qty; }, [](int a) { return a > 1; }); }).to_vector()); }
