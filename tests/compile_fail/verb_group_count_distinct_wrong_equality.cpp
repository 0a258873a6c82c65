// form: from_trades.group_by(symbol_of).select([](auto g) { return g.count_distinct([](auto t) { return t.qty; }, [](std::string, int) { return true; }, [](int q) { return std::size_t(q); }); }).to_vector()
// message: query: count_distinct: the equality must take two keys and give bool: count_distinct(f, equal, hash)
// expect: query: count_distinct: the equality must take two keys and give bool: count_distinct(f, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](auto g) { return g.count_distinct([](auto t) { return t.qty; }, [](std::string, int) { return true; }, [](int q) { return std::size_t(q); }); }).to_vector()); }
