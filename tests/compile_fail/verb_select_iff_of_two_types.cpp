// form: from_trades.select([](auto t) { return query::iff(t.qty > 3, t.name, t.qty); }).to_vector()
// message: query::iff(c, a, b): a and b have no common type; convert one of them with query::cast<T>(x)
// expect: query::iff(c, a, b): a and b have no common type; convert one of them with query::cast<T>(x)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.select([](auto t) { return query::iff(t.qty > 3, t.name, t.qty); }).to_vector()); }
