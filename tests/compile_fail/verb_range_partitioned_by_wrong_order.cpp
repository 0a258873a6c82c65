// form: from_trades.range_partitioned_by(symbol_of, 8, [](const Trade&, int) { return true; }).to_vector()
// message: query: range_partitioned_by: the order must take two keys and give bool: range_partitioned_by(key, n, less)
// expect: query: range_partitioned_by: the order must take two keys and give bool: range_partitioned_by(key, n, less)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.range_partitioned_by(symbol_of, 8, [](const Trade&, int) { return true; }).to_vector()); }
