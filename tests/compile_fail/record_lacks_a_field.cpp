// form: QUERY_RECORD(Row, x); of a struct with two fields
// message: the compiler: too few names for the fields of the struct, at every_field_is_listed
// expect-gcc: only 1 name provided for structured binding
// expect-clang: decomposes into 2 elements, but only 1 name was provided
// expect-at-most: 1
#include <query/record.hpp>

struct Row {
  int x;
  double y;
};
QUERY_RECORD(Row, x);
