// form: query::from(owners).to_map([](const auto& p) { return *p; }, [](const auto& p) -> const auto& { return p; })
// message: query: to_map: the value, the row if no function gives it, cannot be copied, as a std::unique_ptr
// expect: query: to_map: the value, the row if no function gives it, cannot be copied, as a std::unique_ptr
// expect-at-most: 1
#include "verb_rows.hpp"
#include <memory>
inline const std::vector<std::unique_ptr<int>> owners;

void f() { (void)(query::from(owners).to_map([](const auto& p) { return *p; }, [](const auto& p) -> const auto& { return p; })); }
