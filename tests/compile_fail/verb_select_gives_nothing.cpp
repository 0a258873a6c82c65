// form: from_trades.select([](auto t) { (void)t.price; }).to_vector()
// message: query: select: the function gives nothing. Return a value; for actions on rows there is for_each
// expect: query: select: the function gives nothing. Return a value; for actions on rows there is for_each
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.select([](auto t) { (void)t.price; }).to_vector()); }
