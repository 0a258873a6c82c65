// form: from_trades.intersect(from_trades, [](const Trade& a) { return a.qty; }, [](const Trade& a) { return std::size_t(a.qty); }).to_vector()
// message: query: intersect: the equality must take two keys and give bool: intersect(other, equal, hash)
// expect: query: intersect: the equality must take two keys and give bool: intersect(other, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.intersect(from_trades, [](const Trade& a) { return a.qty; }, [](const Trade& a) { return std::size_t(a.qty); }).to_vector()); }
