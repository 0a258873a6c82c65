// form: QUERY_RECORD(Row, x, y); of a class with private fields
// message: QUERY_RECORD(Row): must be a plain aggregate: no constructors, no private members, no base classes, no virtual functions
// expect: QUERY_RECORD(Row): must be a plain aggregate: no constructors, no private members, no base classes
// expect-at-most: 1
#include <query/record.hpp>

class Row {
  int x;
  double y;
};
QUERY_RECORD(Row, x, y);
