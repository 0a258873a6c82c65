// form: from_trades.range_partitioned_by(symbol_of, [](auto t) { return t.qty; }, 4).count()
// message: query: range_partitioned_by: takes one key. Several fields are one key: [](auto t) { return std::tuple(t.a, t.b); }
// expect: query: range_partitioned_by: takes one key. Several fields are one key: [](auto t) { return std::tuple(t.a, t.b); }
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.range_partitioned_by(symbol_of, [](auto t) { return t.qty; }, 4).count()); }
