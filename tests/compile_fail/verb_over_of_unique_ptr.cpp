// form: query::from(owners).over([](const auto& r) { return *r; }).take(1).to_vector()
// message: query: over: copies rows, and rows of this type cannot be copied, as a std::unique_ptr
// expect: query: over: copies rows, and rows of this type cannot be copied, as a std::unique_ptr
// expect-at-most: 1
#include "verb_rows.hpp"
#include <memory>
inline const std::vector<std::unique_ptr<int>> owners;

void f() { (void)(query::from(owners).over([](const auto& r) { return *r; }).take(1).to_vector()); }
