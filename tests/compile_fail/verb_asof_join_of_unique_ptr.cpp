// form: query::from(owners).asof_join(owners, [](const auto& l) { return *l; }, [](const auto& r) { return *r; }).to_vector()
// message: query: asof_join: copies rows, and rows of this type cannot be copied, as a std::unique_ptr
// expect: query: asof_join: copies rows, and rows of this type cannot be copied, as a std::unique_ptr
// expect-at-most: 1
#include "verb_rows.hpp"
#include <memory>
inline const std::vector<std::unique_ptr<int>> owners;

void f() { (void)(query::from(owners).asof_join(owners, [](const auto& l) { return *l; }, [](const auto& r) { return *r; }).to_vector()); }
