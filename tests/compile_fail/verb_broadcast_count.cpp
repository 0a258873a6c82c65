// form: query::broadcast(trades).count()
// message: query: broadcast: count: the function is missing: count([](auto e) { return e > 0; }). How many elements there are: size()
// expect: query: broadcast: count: the function is missing: count([](auto e) { return e > 0; }). How many elements there are: size()
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(query::broadcast(trades).count()); }
