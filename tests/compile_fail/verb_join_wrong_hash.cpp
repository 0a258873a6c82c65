// form: from_trades.join(from_stocks, symbol_of, symbol_of, [](int a, int b) { return a == b; }, [](int) { return std::string(); }).to_vector()
// message: query: join: the hash must take a key and give std::size_t: join(right, left key, right key, equal, hash)
// expect: query: join: the hash must take a key and give std::size_t: join(right, left key, right key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.join(from_stocks, symbol_of, symbol_of, [](int a, int b) { return a == b; }, [](int) { return std::string(); }).to_vector()); }
