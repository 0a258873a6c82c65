// form: query::broadcast(trades).min() + query::broadcast(trades).max()
// message: query: broadcast: min: the function is missing: min([](auto e) { return e; }) of numbers
// expect: query: broadcast: min: the function is missing: min([](auto e) { return e; }) of numbers
// expect: query: broadcast: max: the function is missing: max([](auto e) { return e; }) of numbers
// expect-at-most: 2
#include "verb_rows.hpp"

void f() { (void)(query::broadcast(trades).min() + query::broadcast(trades).max()); }
