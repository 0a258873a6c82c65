// form: query::from(owners).slice(1, 3).to_vector()
// message: query: slice: copies rows, and rows of this type cannot be copied, as a std::unique_ptr
// expect: query: slice: copies rows, and rows of this type cannot be copied, as a std::unique_ptr
// expect-at-most: 1
#include "verb_rows.hpp"
#include <memory>
inline const std::vector<std::unique_ptr<int>> owners;

void f() { (void)(query::from(owners).slice(1, 3).to_vector()); }
