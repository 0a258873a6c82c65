// form: from_trades.select([](auto t) { return query::make<Out>(t.price, 1, 2); }).to_vector()
// message: query::make<Out>(...): give one value for each field, in this order: a, b
// expect: query::make<Out>(...): give one value for each field, in this order: a, b
// expect-at-most: 1
#include "verb_rows.hpp"

struct Out {
  double a;
  int b;
};
QUERY_RECORD(Out, a, b);
void f() { (void)(from_trades.select([](auto t) { return query::make<Out>(t.price, 1, 2); }).to_vector()); }
