// form: from_trades.sample(0.1).count()
// message: query: sample: takes a whole number of rows, from 0. Write a share as share * rows.size(), cast to an integer
// expect: query: sample: takes a whole number of rows, from 0. Write a share as share * rows.size(), cast to an integer
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.sample(0.1).count()); }
