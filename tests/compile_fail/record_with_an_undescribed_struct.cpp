// form: QUERY_RECORD(Row, x, at); where at is a struct without a QUERY_RECORD
// message: QUERY_RECORD(Row): field 'at' has a type that a record cannot hold. ... structs with a QUERY_RECORD of their own above
// expect: QUERY_RECORD(Row): field 'at' has a type that a record cannot hold
// expect: structs with a QUERY_RECORD of their own above
// expect-at-most: 1
#include <query/record.hpp>

struct Place {
  float x, y;
};
struct Row {
  int x;
  Place at;
};
QUERY_RECORD(Row, x, at);
