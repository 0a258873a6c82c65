// form: from_trades.group_by(symbol_of, [](auto t) { return t.qty; }, [](auto t) { return t.price; })
// message: query: group_by: the last function takes one row, and here only an equality of two keys and its hash may stand: group_by(key, equal, hash)
// expect: query: group_by: the last function takes one row, and here only an equality of two keys and its hash may stand: group_by(key, equal, hash)
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by(symbol_of, [](auto t) { return t.qty; }, [](auto t) { return t.price; })); }
