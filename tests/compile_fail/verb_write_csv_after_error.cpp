// form: from_trades.where([](auto t) { return t.qty; }).write_csv("trades.csv", {.delimiter = ';'})
// message: query: where: the predicate gives a number and must give bool
// expect: query: where: the predicate gives a number and must give bool
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { from_trades.where([](auto t) { return t.qty; }).write_csv("trades.csv", {.delimiter = ';'}); }
