// form: from_trades.group_by([](auto) {}).count().to_vector()
// message: query: group_by: the function gives nothing
// expect: query: group_by: the function gives nothing
// expect-at-most: 1
#include "verb_rows.hpp"

void f() { (void)(from_trades.group_by([](auto) {}).count().to_vector()); }
