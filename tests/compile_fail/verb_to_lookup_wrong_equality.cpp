// form: from_trades.to_lookup(symbol_of, [](int a) { return a; }, [](int a) { return std::size_t(a); })
// message: query: to_lookup: the equality must take two keys and give bool: to_lookup(key, equal, hash)
// expect: query: to_lookup: the equality must take two keys and give bool: to_lookup(key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.to_lookup(symbol_of, [](int a) { return a; }, [](int a) { return std::size_t(a); })); }
