// form: query::from(owners).group_by([](const auto& p) { return *p; }).count().to_vector()
// message: query: group_by: copies rows, and rows of this type cannot be copied, as a std::unique_ptr
// expect: query: group_by: copies rows, and rows of this type cannot be copied, as a std::unique_ptr
// expect-at-most: 1
#include "verb_rows.hpp"
#include <memory>
inline const std::vector<std::unique_ptr<int>> owners;

void f() { (void)(query::from(owners).group_by([](const auto& p) { return *p; }).count().to_vector()); }
