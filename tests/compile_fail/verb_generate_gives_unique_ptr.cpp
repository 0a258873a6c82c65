// form: query::generate([] { return std::optional<std::unique_ptr<int>>(); }).to_vector()
// message: query: generate: these rows cannot be copied, as a std::unique_ptr or what holds one, and queries copy rows
// expect: query: generate: these rows cannot be copied, as a std::unique_ptr or what holds one, and queries copy rows
// expect-at-most: 1
#include "verb_rows.hpp"
#include <memory>

void f() { (void)(query::generate([] { return std::optional<std::unique_ptr<int>>(); }).to_vector()); }
