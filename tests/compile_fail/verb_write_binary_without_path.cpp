// form: from_trades.write_binary()
// message: query: write_binary: the path of the file is missing: write_binary(path)
// expect: query: write_binary: the path of the file is missing: write_binary(path)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.write_binary()); }
