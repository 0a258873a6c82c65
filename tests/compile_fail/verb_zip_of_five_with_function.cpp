// form: from_trades.zip(from_stocks, numbers, from_trades, stocks, [](auto a, auto, auto, auto, auto) { return a; }).count()
// message: query: zip: takes at most three other queries, four with this one. Zip the result with the next ones
// expect: query: zip: takes at most three other queries, four with this one. Zip the result with the next ones
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.zip(from_stocks, numbers, from_trades, stocks, [](auto a, auto, auto, auto, auto) { return a; }).count()); }
