// form: from_trades.intersect_by(from_trades, symbol_of, [](int a) { return a; }, [](int a) { return std::size_t(a); }).to_vector()
// message: query: intersect_by: the equality must take two keys and give bool: intersect_by(other, key, equal, hash)
// expect: query: intersect_by: the equality must take two keys and give bool: intersect_by(other, key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.intersect_by(from_trades, symbol_of, [](int a) { return a; }, [](int a) { return std::size_t(a); }).to_vector()); }
