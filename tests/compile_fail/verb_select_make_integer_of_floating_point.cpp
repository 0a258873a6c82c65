// form: from_trades.select([](auto t) { return query::make<Out>(t.price, t.price); }).to_vector()
// message: query::make<Out>(...): the value for field 'b' may have a fraction, the field is an integer: query::cast<int>(x)
// expect: query::make<Out>(...): the value for field 'b' may have a fraction, the field is an integer: query::cast<int>(x)
// expect-at-most: 1
#include "verb_rows.hpp"

struct Out {
  double a;
  int b;
};
QUERY_RECORD(Out, a, b);
void f() { (void)(from_trades.select([](auto t) { return query::make<Out>(t.price, t.price); }).to_vector()); }
