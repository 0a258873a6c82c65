// form: query::generate([] { return 3; }).count()
// message: query: generate: the function must give std::optional<Row>, empty at the end
// expect: query: generate: the function must give std::optional<Row>, empty at the end
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(query::generate([] { return 3; }).count()); }
