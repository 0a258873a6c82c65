// form: QUERY_RECORD(Row, x, y, x);
// message: QUERY_RECORD(Row): a field is listed twice, and the compiler: redeclaration
// expect: QUERY_RECORD(Row): a field is listed twice
// expect-at-most: 5
#include <query/query.hpp>

struct Row {
  int x;
  double y;
};
QUERY_RECORD(Row, x, y, x);
auto f(const std::vector<Row>& rows) {
  return query::from(rows).where([](auto t) { return t.x > 3; }).sum([](auto t) { return t.y; });
}
