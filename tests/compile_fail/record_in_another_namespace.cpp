// form: QUERY_RECORD(Row, x, y); in another namespace than Row's
// message: QUERY_RECORD(Row): write it in the namespace of the struct
// expect: QUERY_RECORD(Row): write it in the namespace of the struct
// expect-at-most: 1
#include <query/record.hpp>

namespace shop {
struct Row {
  int x;
  double y;
};
}  // namespace shop
using shop::Row;
QUERY_RECORD(Row, x, y);
