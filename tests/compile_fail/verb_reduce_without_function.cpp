// form: from_trades.reduce()
// message: query: reduce: the function of all rows is missing: reduce([](auto g) {
// expect: query: reduce: the function of all rows is missing: reduce([](auto g) {
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.reduce()); }
