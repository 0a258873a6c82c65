// form: from_trades.group_by([](const Trade& t) { return Plain{t.qty}; }).count().to_vector()
// message: query: group_by: this key type has no description to compare and hash by
// expect: query: group_by: this key type has no description to compare and hash by
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by([](const Trade& t) { return Plain{t.qty}; }).count().to_vector()); }
