// form: QUERY_RECORD(Row, x, z); of a struct without z
// message: the compiler: no member named 'z'
// expect-gcc: is not a member of
// expect-clang: no member named 'z'
#include <query/record.hpp>

struct Row {
  int x;
  double y;
};
QUERY_RECORD(Row, x, z);
