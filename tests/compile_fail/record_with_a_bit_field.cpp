// form: QUERY_RECORD(Row, x, y); where y is a bit-field
// message: QUERY_RECORD(Row): field 'y' has a type that a record cannot hold. ...
// expect: QUERY_RECORD(Row): field 'y' has a type that a record cannot hold
// expect-at-most: 1
#include <query/record.hpp>

struct Row {
  int x;
  unsigned y : 3;
};
QUERY_RECORD(Row, x, y);
