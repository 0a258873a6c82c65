// form: from_trades.with_columns([](auto t) { return t.qty; })
// message: query: with_columns: rows get more fields by select
// expect: query: with_columns: rows get more fields by select
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.with_columns([](auto t) { return t.qty; })); }
