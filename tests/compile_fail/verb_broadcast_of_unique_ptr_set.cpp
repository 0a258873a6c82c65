// form: query::broadcast(std::set<std::unique_ptr<int>>())
// message: query: broadcast: these rows cannot be copied, as a std::unique_ptr
// expect: query: broadcast: these rows cannot be copied, as a std::unique_ptr
// expect-at-most: 1
#include "verb_rows.hpp"
#include <memory>
#include <set>

void f() { (void)query::broadcast(std::set<std::unique_ptr<int>>()); }
