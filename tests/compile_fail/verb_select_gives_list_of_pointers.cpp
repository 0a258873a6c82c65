// form: from_trades.select([](const Trade& t) { return std::vector<const Trade*>{&t}; }).to_vector()
// message: query: select: the function gives a pointer to a row or to a part of it, and rows end with the call that they are made for. Give the value, which is stored, or what tells the row apart, such as its index
// expect: query: select: the function gives a pointer to a row or to a part of it, and rows end with the call that they are made for. Give the value, which is stored, or what tells the row apart, such as its index
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.select([](const Trade& t) { return std::vector<const Trade*>{&t}; }).to_vector()); }
