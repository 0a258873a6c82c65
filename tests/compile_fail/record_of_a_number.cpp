// form: QUERY_RECORD(Number, x); of an alias of int
// message: QUERY_RECORD(Number): takes a struct. Numbers and enums need none
// expect: QUERY_RECORD(Number): takes a struct. Numbers and enums need none
// expect-at-most: 1
#include <query/query.hpp>

using Number = int;
QUERY_RECORD(Number, x);
