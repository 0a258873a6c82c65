// form: query::from(owners).max_by([](const auto& p) { return *p; }).has_value()
// message: query: max_by: copies rows, and rows of this type cannot be copied, as a std::unique_ptr
// expect: query: max_by: copies rows, and rows of this type cannot be copied, as a std::unique_ptr
// expect-at-most: 1
#include "verb_rows.hpp"
#include <memory>
inline const std::vector<std::unique_ptr<int>> owners;

void f() { (void)query::from(owners).max_by([](const auto& p) { return *p; }).has_value(); }
