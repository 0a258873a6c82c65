// form: from_trades.to_map(symbol_of, [](auto t) { return t.qty; }, [](int a) { return a; }, [](int a) { return std::size_t(a); })
// message: query: to_map: the equality must take two keys and give bool: to_map(key, value, equal, hash)
// expect: query: to_map: the equality must take two keys and give bool: to_map(key, value, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.to_map(symbol_of, [](auto t) { return t.qty; }, [](int a) { return a; }, [](int a) { return std::size_t(a); })); }
