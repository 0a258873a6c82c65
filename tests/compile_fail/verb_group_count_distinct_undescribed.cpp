// form: from_plains.aggregate([](auto g) { return g.count_distinct(); }).to_vector()
// message: query: count_distinct: this key type has no description
// expect: query: count_distinct: this key type has no description
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_plains.aggregate([](auto g) { return g.count_distinct(); }).to_vector()); }
