// form: std::cout << from_trades.sum([](auto t) { return t.name; })
// message: query: sum: these values are no numbers
// expect: query: sum: these values are no numbers
// expect-at-most: 1
#include "verb_rows.hpp"

#include <iostream>

void f() { (void)(std::cout << from_trades.sum([](auto t) { return t.name; })); }
