// form: QUERY_RECORD(Row, x); of a struct that is only declared
// message: QUERY_RECORD(Row): write it after the struct's definition
// expect: QUERY_RECORD(Row): write it after the struct's definition
// expect-at-most: 1
#include <query/record.hpp>

struct Row;
QUERY_RECORD(Row, x);
