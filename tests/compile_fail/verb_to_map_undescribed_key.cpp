// form: from_trades.to_map([](const Trade& t) { return Plain{t.qty}; }).size()
// message: query: to_map: this key type has no description
// expect: query: to_map: this key type has no description
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.to_map([](const Trade& t) { return Plain{t.qty}; }).size()); }
