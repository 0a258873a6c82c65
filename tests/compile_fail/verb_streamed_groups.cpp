// form: std::cout << from_trades.group_by(symbol_of)
// message: query: operator<<: a query has no text of its own. Write q.print() or std::cout << q.table()
// expect: query: operator<<: a query has no text of its own. Write q.print() or std::cout << q.table()
// expect-at-most: 1
#include <iostream>

#include "verb_rows.hpp"

void f() { (void)(std::cout << from_trades.group_by(symbol_of)); }
