// form: from_trades.group_by(symbol_of, [](int a) { return a; }, [](int a) { return std::size_t(a); }).count().to_vector()
// message: query: group_by: the equality must take two keys and give bool: group_by(key, equal, hash)
// expect: query: group_by: the equality must take two keys and give bool: group_by(key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of, [](int a) { return a; }, [](int a) { return std::size_t(a); }).count().to_vector()); }
