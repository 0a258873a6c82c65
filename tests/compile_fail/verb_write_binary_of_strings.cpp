// form: from_trades.write_binary("x.bin")
// message: query: write_binary: such files hold rows as they lie in memory
// expect: query: write_binary: such files hold rows as they lie in memory
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.write_binary("x.bin")); }
