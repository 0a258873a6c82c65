// form: from_trades.where([](auto) {}).count()
// message: query: where: the function gives nothing. Return a value
// expect: query: where: the function gives nothing. Return a value
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.where([](auto) {}).count()); }
