// form: from_trades.hash_partitioned_by(4, symbol_of)
// message: query: hash_partitioned_by: takes the key and then how many partitions: hash_partitioned_by(key, 4)
// expect: query: hash_partitioned_by: takes the key and then how many partitions: hash_partitioned_by(key, 4)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.hash_partitioned_by(4, symbol_of)); }
