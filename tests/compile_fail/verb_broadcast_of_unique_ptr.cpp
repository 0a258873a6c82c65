// form: query::broadcast(owners)
// message: query: broadcast: these rows cannot be copied, as a std::unique_ptr
// expect: query: broadcast: these rows cannot be copied, as a std::unique_ptr
// expect-at-most: 1
#include "verb_rows.hpp"
#include <memory>
inline const std::vector<std::unique_ptr<int>> owners;

void f() { (void)query::broadcast(owners); }
