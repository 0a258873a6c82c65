// form: from_trades.count_by([](const Trade& t) { return Plain{t.qty}; }).to_vector()
// message: query: count_by: this key type has no description
// expect: query: count_by: this key type has no description
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.count_by([](const Trade& t) { return Plain{t.qty}; }).to_vector()); }
