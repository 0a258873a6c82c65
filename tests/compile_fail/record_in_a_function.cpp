// form: QUERY_RECORD inside a function
// message: QUERY_RECORD(Row): write the struct and it outside of functions
// expect: QUERY_RECORD(Row): write the struct and it outside of functions
// expect-at-most: 5
#include <query/record.hpp>

void f() {
  struct Row {
    int x;
    double y;
  };
  QUERY_RECORD(Row, x, y);
}
