// form: from_trades.group_by([](const Trade& t) { return std::set<std::string_view>{t.name}; }, std::equal_to<>{}, [](const auto& key) { return key.size(); }).keys().to_vector()
// message: query: group_by: the function gives a container, std::variant or range of views
// expect: query: group_by: the function gives a container, std::variant or range of views
// expect-at-most: 1
#include "verb_rows.hpp"
#include <set>

void f() {
  (void)from_trades.group_by([](const Trade& t) { return std::set<std::string_view>{t.name}; }, std::equal_to<>{},
             [](const auto& key) { return key.size(); }).keys().to_vector();
}
