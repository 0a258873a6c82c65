// form: from_trades.group_by(symbol_of, [](int a, int b) { return a == b; }, [](int) { return std::string(); }).count().to_vector()
// message: query: group_by: the hash must take a key and give std::size_t
// expect: query: group_by: the hash must take a key and give std::size_t
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of, [](int a, int b) { return a == b; }, [](int) { return std::string(); }).count().to_vector()); }
