// form: from_trades.select([](auto t) { return query::make<Plain>(t.qty); }).to_vector()
// message: query::make<Out>(...): Out needs a QUERY_RECORD, in its namespace, right after the struct
// expect: query::make<Out>(...): Out needs a QUERY_RECORD, in its namespace, right after the struct
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.select([](auto t) { return query::make<Plain>(t.qty); }).to_vector()); }
