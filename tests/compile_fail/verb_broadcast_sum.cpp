// form: numbers.select([b = query::broadcast(numbers)](auto x) { return x + b.sum(); }).sum()
// message: query: broadcast: sum: the function is missing: sum([](auto e) { return e; }) of numbers
// expect: query: broadcast: sum: the function is missing: sum([](auto e) { return e; }) of numbers
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(numbers.select([b = query::broadcast(numbers)](auto x) { return x + b.sum(); }).sum()); }
