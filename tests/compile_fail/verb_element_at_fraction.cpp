// form: from_trades.element_at(0.5)
// message: query: element_at: takes a whole number of rows that lie before the wanted one
// expect: query: element_at: takes a whole number of rows that lie before the wanted one
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.element_at(0.5)); }
