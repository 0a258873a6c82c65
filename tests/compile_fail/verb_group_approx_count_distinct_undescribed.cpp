// form: from_plains.aggregate([](auto g) { return g.approx_count_distinct(); }).to_vector()
// message: query: approx_count_distinct: this key type has no description
// expect: query: approx_count_distinct: this key type has no description
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_plains.aggregate([](auto g) { return g.approx_count_distinct(); }).to_vector()); }
