// form: from_trades.distinct_by(symbol_of, [](int a) { return a; }, [](int a) { return std::size_t(a); }).to_vector()
// message: query: distinct_by: the equality must take two keys and give bool: distinct_by(key, equal, hash)
// expect: query: distinct_by: the equality must take two keys and give bool: distinct_by(key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.distinct_by(symbol_of, [](int a) { return a; }, [](int a) { return std::size_t(a); }).to_vector()); }
