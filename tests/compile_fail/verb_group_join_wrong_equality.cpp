// form: from_trades.group_join(from_stocks, symbol_of, symbol_of, [](const Trade& t, const std::vector<Stock>&) { return t.qty; }, [](int a) { return a; }, [](int a) { return std::size_t(a); }).to_vector()
// message: query: group_join: the equality must take two keys and give bool: group_join(right, left key, right key, result, equal, hash)
// expect: query: group_join: the equality must take two keys and give bool: group_join(right, left key, right key, result, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_join(from_stocks, symbol_of, symbol_of, [](const Trade& t, const std::vector<Stock>&) { return t.qty; }, [](int a) { return a; }, [](int a) { return std::size_t(a); }).to_vector()); }
