// form: from_trades.select([](auto t) { return query::make<Out>(t.price, std::optional(t.qty)); }).to_vector()
// message: query::make<Out>(...): the value for field 'b' is a std::optional, the field is none. Write x.value_or(0)
// expect: query::make<Out>(...): the value for field 'b' is a std::optional, the field is none. Write x.value_or(0)
// expect-at-most: 1
#include "verb_rows.hpp"

struct Out {
  double a;
  int b;
};
QUERY_RECORD(Out, a, b);
void f() { (void)(from_trades.select([](auto t) { return query::make<Out>(t.price, std::optional(t.qty)); }).to_vector()); }
