// form: query::read_csv<Plain>("x.csv").to_vector()
// message: query: read_csv: the row type, or one of its fields, has no description
// expect: query: read_csv: the row type, or one of its fields, has no description
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(query::read_csv<Plain>("x.csv").to_vector()); }
