// form: from_trades.group_by([](const Trade& t) { return std::make_unique<int>(t.qty); }, [](const auto& a, const auto& b) { return *a == *b; }, [](const auto& a) { return std::size_t(*a); }).count()
// message: query: group_by: this key cannot be copied, as a std::unique_ptr
// expect: query: group_by: this key cannot be copied, as a std::unique_ptr
// expect-at-most: 1
#include "verb_rows.hpp"
#include <memory>

void f() { (void)(from_trades.group_by([](const Trade& t) { return std::make_unique<int>(t.qty); }, [](const auto& a, const auto& b) { return *a == *b; }, [](const auto& a) { return std::size_t(*a); }).count()); }
