// form: query::from(owners).to_map([](const auto& p) -> const auto& { return p; }, [](const auto& p) { return *p; }, [](const auto& a, const auto& b) { return *a == *b; }, [](const auto& a) { return std::size_t(*a); })
// message: query: to_map: the key cannot be copied, as a std::unique_ptr
// expect: query: to_map: the key cannot be copied, as a std::unique_ptr
// expect-at-most: 1
#include "verb_rows.hpp"
#include <memory>
inline const std::vector<std::unique_ptr<int>> owners;

void f() { (void)(query::from(owners).to_map([](const auto& p) -> const auto& { return p; }, [](const auto& p) { return *p; }, [](const auto& a, const auto& b) { return *a == *b; }, [](const auto& a) { return std::size_t(*a); })); }
