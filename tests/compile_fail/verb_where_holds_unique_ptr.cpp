// form: from_trades.where([p = std::make_unique<int>(3)](auto t) { return t.qty > *p; })
// message: query: where: the function holds what cannot be copied, such as a std::unique_ptr, and queries copy their functions...
// expect: query: where: the function holds what cannot be copied, such as a std::unique_ptr, and queries copy their functions.
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.where([p = std::make_unique<int>(3)](auto t) { return t.qty > *p; })); }
