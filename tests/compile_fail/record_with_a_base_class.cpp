// form: QUERY_RECORD(Row, id, x); of a struct whose id is in its base class
// message: QUERY_RECORD(Row): must be a plain aggregate: no constructors, no private members, no base classes, no virtual functions
// expect: QUERY_RECORD(Row): must be a plain aggregate: no constructors, no private members, no base classes
// expect-at-most: 1
#include <query/record.hpp>

struct Numbered {
  int id;
};
struct Row : Numbered {
  double x;
};
QUERY_RECORD(Row, id, x);
