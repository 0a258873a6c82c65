// form: QUERY_RECORD(Row, x, z); of a struct without z, and a query over its rows
// message: QUERY_RECORD(Row): the struct has no field 'z'
// expect: QUERY_RECORD(Row): the struct has no field 'z'
// expect-at-most: 1
#include <query/query.hpp>

struct Row {
  int x;
  double y;
};
QUERY_RECORD(Row, x, z);
auto f(const std::vector<Row>& rows) {
  return query::from(rows).where([](auto t) { return t.x > 3; }).sum([](auto t) { return t.y; });
}
