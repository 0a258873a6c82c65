// form: query::repeat(std::make_unique<int>(1), 3)
// message: query: repeat: these rows cannot be copied, as a std::unique_ptr
// expect: query: repeat: these rows cannot be copied, as a std::unique_ptr
// expect-at-most: 1
#include "verb_rows.hpp"
#include <memory>

void f() { (void)(query::repeat(std::make_unique<int>(1), 3)); }
