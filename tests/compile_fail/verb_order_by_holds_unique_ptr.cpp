// form: from_trades.order_by([p = std::make_unique<int>(3)](auto t) { return t.qty + *p; })
// message: query: order_by: the function holds what cannot be copied, such as a std::unique_ptr, and queries copy their functions...
// expect: query: order_by: the function holds what cannot be copied, such as a std::unique_ptr, and queries copy their functions.
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.order_by([p = std::make_unique<int>(3)](auto t) { return t.qty + *p; })); }
