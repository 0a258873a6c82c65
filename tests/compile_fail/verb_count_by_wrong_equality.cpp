// form: from_trades.count_by(symbol_of, [](int a) { return a; }, [](int a) { return std::size_t(a); }).to_vector()
// message: query: count_by: the equality must take two keys and give bool: count_by(key, equal, hash)
// expect: query: count_by: the equality must take two keys and give bool: count_by(key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.count_by(symbol_of, [](int a) { return a; }, [](int a) { return std::size_t(a); }).to_vector()); }
