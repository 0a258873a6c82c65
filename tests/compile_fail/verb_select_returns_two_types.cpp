// form: from_trades.select([](auto t) { if (t.qty == 0) return 0; return 100 / t.qty; }).to_vector()
// message: the compiler: inconsistent types deduced for the return type, and nothing else
// expect-gcc: inconsistent types
// expect-clang: deduced as 'expr<int>' here but deduced as
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.select([](auto t) { if (t.qty == 0) return 0; return 100 / t.qty; }).to_vector()); }
