// form: from_trades.union_with_by(from_trades, symbol_of, [](int a, int b) { return a == b; }, [](int) { return std::string(); }).to_vector()
// message: query: union_with_by: the hash must take a key and give std::size_t: union_with_by(other, key, equal, hash)
// expect: query: union_with_by: the hash must take a key and give std::size_t: union_with_by(other, key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.union_with_by(from_trades, symbol_of, [](int a, int b) { return a == b; }, [](int) { return std::string(); }).to_vector()); }
