// form: QUERY_RECORD(shop::Row, x, y);
// message: QUERY_RECORD(shop::Row): takes a plain name. Write it in the struct's namespace, ...
// expect: QUERY_RECORD(shop::Row): takes a plain name. Write it in the struct's namespace
// expect-at-most: 8
#include <query/record.hpp>

namespace shop {
struct Row {
  int x;
  double y;
};
}  // namespace shop
QUERY_RECORD(shop::Row, x, y);
