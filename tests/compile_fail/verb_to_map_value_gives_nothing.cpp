// form: from_trades.to_map(symbol_of, [](auto) {}).size()
// message: query: to_map: the function gives nothing
// expect: query: to_map: the function gives nothing
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.to_map(symbol_of, [](auto) {}).size()); }
