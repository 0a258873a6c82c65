// form: from_trades.full_join(from_stocks, symbol_of, symbol_of, [](int a) { return a; }, [](int a) { return std::size_t(a); }).to_vector()
// message: query: full_join: the equality must take two keys and give bool: full_join(right, left key, right key, equal, hash)
// expect: query: full_join: the equality must take two keys and give bool: full_join(right, left key, right key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.full_join(from_stocks, symbol_of, symbol_of, [](int a) { return a; }, [](int a) { return std::size_t(a); }).to_vector()); }
