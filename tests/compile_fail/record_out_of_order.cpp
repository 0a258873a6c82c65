// form: QUERY_RECORD(Row, y, x); of a struct with x before y
// message: QUERY_RECORD(Row): list the fields in declaration order
// expect: QUERY_RECORD(Row): list the fields in declaration order
// expect-at-most: 1
#include <query/record.hpp>

struct Row {
  int x;
  double y;
};
QUERY_RECORD(Row, y, x);
