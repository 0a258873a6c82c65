// form: from_trades.reduce([p = std::make_unique<int>(3)](auto g) { return g.count() + *p; })
// message: query: group_by(...).select: the function holds what cannot be copied, such as a std::unique_ptr, and queries copy their functions...
// expect: query: group_by(...).select: the function holds what cannot be copied, such as a std::unique_ptr, and queries copy their functions.
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.reduce([p = std::make_unique<int>(3)](auto g) { return g.count() + *p; })); }
