// form: from_trades.distinct([](const Trade& a) { return a.qty; }, [](const Trade& a) { return std::size_t(a.qty); }).to_vector()
// message: query: distinct: the equality must take two keys and give bool: distinct(equal, hash)
// expect: query: distinct: the equality must take two keys and give bool: distinct(equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.distinct([](const Trade& a) { return a.qty; }, [](const Trade& a) { return std::size_t(a.qty); }).to_vector()); }
