// form: from_trades.select([](const Trade& t) { return std::set<std::string_view>{t.name}; }).to_vector()
// message: query: select: the function gives a container, std::variant or range of views
// expect: query: select: the function gives a container, std::variant or range of views
// expect-at-most: 1
#include "verb_rows.hpp"
#include <set>

void f() { (void)(from_trades.select([](const Trade& t) { return std::set<std::string_view>{t.name}; }).to_vector()); }
