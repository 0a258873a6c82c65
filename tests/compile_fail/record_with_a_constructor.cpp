// form: QUERY_RECORD(Row, x, y); of a struct with a constructor
// message: QUERY_RECORD(Row): must be a plain aggregate: no constructors, no private members, no base classes, no virtual functions
// expect: QUERY_RECORD(Row): must be a plain aggregate: no constructors
// expect-at-most: 1
#include <query/record.hpp>

struct Row {
  Row(int a) : x(a) {}
  int x;
};
QUERY_RECORD(Row, x);
