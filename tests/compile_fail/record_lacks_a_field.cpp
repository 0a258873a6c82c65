// form: QUERY_RECORD(Row, x); of a struct with two fields
// message: QUERY_RECORD(Row): a field is missing: list every field of the struct, in declaration order
// expect: QUERY_RECORD(Row): a field is missing: list every field of the struct, in declaration order
// expect-at-most: 1
#include <query/record.hpp>

struct Row {
  int x;
  double y;
};
QUERY_RECORD(Row, x);
