// form: from_trades.union_with_by(from_trades, symbol_of, [](int a) { return a; }, [](int a) { return std::size_t(a); }).to_vector()
// message: query: union_with_by: the equality must take two keys and give bool: union_with_by(other, key, equal, hash)
// expect: query: union_with_by: the equality must take two keys and give bool: union_with_by(other, key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.union_with_by(from_trades, symbol_of, [](int a) { return a; }, [](int a) { return std::size_t(a); }).to_vector()); }
