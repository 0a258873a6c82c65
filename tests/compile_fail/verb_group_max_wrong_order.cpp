// form: from_trades.group_by(symbol_of).select([](auto g) { return g.max([](auto t) { return t.qty; }, [](int a) { return a > 1; }); }).to_vector()
// message: query: max: the order must take two keys and give bool: max(f, less)
// expect: query: max: the order must take two keys and give bool: max(f, less)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](auto g) { return g.max([](auto t) { return t.qty; }, [](int a) { return a > 1; }); }).to_vector()); }
