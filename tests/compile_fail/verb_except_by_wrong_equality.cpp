// form: from_trades.except_by(from_trades, symbol_of, [](int a) { return a; }, [](int a) { return std::size_t(a); }).to_vector()
// message: query: except_by: the equality must take two keys and give bool: except_by(other, key, equal, hash)
// expect: query: except_by: the equality must take two keys and give bool: except_by(other, key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.except_by(from_trades, symbol_of, [](int a) { return a; }, [](int a) { return std::size_t(a); }).to_vector()); }
