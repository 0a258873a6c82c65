// form: from_trades.union_with(from_trades, [](const Trade& a) { return a.qty; }, [](const Trade& a) { return std::size_t(a.qty); }).to_vector()
// message: query: union_with: the equality must take two keys and give bool: union_with(other, equal, hash)
// expect: query: union_with: the equality must take two keys and give bool: union_with(other, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.union_with(from_trades, [](const Trade& a) { return a.qty; }, [](const Trade& a) { return std::size_t(a.qty); }).to_vector()); }
