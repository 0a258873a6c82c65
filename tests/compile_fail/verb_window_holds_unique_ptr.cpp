// form: from_trades.window(2, [p = std::make_unique<int>(3)](auto w) { return w[0].qty + *p; })
// message: query: window: the function holds what cannot be copied, such as a std::unique_ptr, and queries copy their functions...
// expect: query: window: the function holds what cannot be copied, such as a std::unique_ptr, and queries copy their functions.
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.window(2, [p = std::make_unique<int>(3)](auto w) { return w[0].qty + *p; })); }
