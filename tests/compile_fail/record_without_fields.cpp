// form: QUERY_RECORD(Row); and a query over its rows
// message: QUERY_RECORD(Row): the fields are missing: QUERY_RECORD(Row, field, ...) lists every field of the struct, in declaration order
// expect: QUERY_RECORD(Row): the fields are missing: QUERY_RECORD(Row, field, ...) lists every field of the struct, in declaration order
// expect-at-most: 1
#include <query/query.hpp>

struct Row {
  int x;
  double y;
};
QUERY_RECORD(Row);
auto f(const std::vector<Row>& rows) {
  return query::from(rows).where([](auto t) { return t.x > 3; }).sum([](auto t) { return t.y; });
}
