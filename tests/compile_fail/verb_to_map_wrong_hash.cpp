// form: from_trades.to_map(symbol_of, [](int a, int b) { return a == b; }, [](int) { return std::string(); })
// message: query: to_map: the hash must take a key and give std::size_t: to_map(key, value, equal, hash)
// expect: query: to_map: the hash must take a key and give std::size_t: to_map(key, value, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.to_map(symbol_of, [](int a, int b) { return a == b; }, [](int) { return std::string(); })); }
