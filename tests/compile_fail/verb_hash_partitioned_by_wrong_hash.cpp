// form: from_trades.hash_partitioned_by(symbol_of, 8, [](int a, int b) { return a == b; }, [](int) { return std::string(); }).to_vector()
// message: query: hash_partitioned_by: the hash must take a key and give std::size_t: hash_partitioned_by(key, n, equal, hash)
// expect: query: hash_partitioned_by: the hash must take a key and give std::size_t: hash_partitioned_by(key, n, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.hash_partitioned_by(symbol_of, 8, [](int a, int b) { return a == b; }, [](int) { return std::string(); }).to_vector()); }
