// form: from_trades.count_by(symbol_of, [](int a, int b) { return a == b; }, [](int) { return std::string(); }).to_vector()
// message: query: count_by: the hash must take a key and give std::size_t: count_by(key, equal, hash)
// expect: query: count_by: the hash must take a key and give std::size_t: count_by(key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.count_by(symbol_of, [](int a, int b) { return a == b; }, [](int) { return std::string(); }).to_vector()); }
