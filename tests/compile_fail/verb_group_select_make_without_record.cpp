// form: from_trades.group_by(symbol_of).select([](auto g) { return query::make<Plain>(g.count()); }).to_vector()
// message: query::make<Out>(...): Out needs a QUERY_RECORD, in its namespace, right after the struct
// expect: query::make<Out>(...): Out needs a QUERY_RECORD, in its namespace, right after the struct
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of).select([](auto g) { return query::make<Plain>(g.count()); }).to_vector()); }
