// form: query::from(std::list<std::unique_ptr<int>>()).to_vector()
// message: query: from: these rows cannot be copied, as a std::unique_ptr or what holds one, and queries copy rows
// expect: query: from: these rows cannot be copied, as a std::unique_ptr or what holds one, and queries copy rows
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(query::from(std::list<std::unique_ptr<int>>()).to_vector()); }
