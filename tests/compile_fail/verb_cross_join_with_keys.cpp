// form: from_trades.cross_join(from_stocks, symbol_of, symbol_of).to_vector()
// message: query: cross_join: takes no keys, as every row meets every row: cross_join(right, result). Rows with equal keys: join(
// expect: query: cross_join: takes no keys, as every row meets every row: cross_join(right, result). Rows with equal keys: join(
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.cross_join(from_stocks, symbol_of, symbol_of).to_vector()); }
