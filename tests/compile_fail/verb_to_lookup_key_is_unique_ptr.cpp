// form: from_trades.to_lookup([](const Trade& t) { return std::make_unique<int>(t.qty); }, [](const auto& a, const auto& b) { return *a == *b; }, [](const auto& a) { return std::size_t(*a); })
// message: query: to_lookup: this key cannot be copied, as a std::unique_ptr
// expect: query: to_lookup: this key cannot be copied, as a std::unique_ptr
// expect-at-most: 1
#include "verb_rows.hpp"
#include <memory>

void f() { (void)(from_trades.to_lookup([](const Trade& t) { return std::make_unique<int>(t.qty); }, [](const auto& a, const auto& b) { return *a == *b; }, [](const auto& a) { return std::size_t(*a); })); }
