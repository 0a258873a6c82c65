// form: from_trades.select([](const auto& t) { return query::make<Out>(t.price, t.name); }).to_vector()
// message: query::make<Out>(...): the value for field 'b' does not have its type; numbers convert, other types must match
// expect: query::make<Out>(...): the value for field 'b' does not have its type; numbers convert, other types must match
// expect: value_for_field<std::
// expect-at-most: 1
#include "verb_rows.hpp"

struct Out {
  double a;
  int b;
};
QUERY_RECORD(Out, a, b);
void f() { (void)(from_trades.select([](const auto& t) { return query::make<Out>(t.price, t.name); }).to_vector()); }
