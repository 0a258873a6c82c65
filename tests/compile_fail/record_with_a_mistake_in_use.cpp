// form: verbs over a QUERY_RECORD that lists the fields in another order
// message: QUERY_RECORD(Row): list the fields in declaration order
// expect: QUERY_RECORD(Row): list the fields in declaration order
// expect-at-most: 1
#include <vector>

#include <query/query.hpp>

struct Row {
  int x;
  double y;
};
QUERY_RECORD(Row, y, x);
void f(const std::vector<Row>& rows) {
  const auto q = query::from(rows).where([](auto r) { return r.x > 0; }).select([](auto r) { return query::make<Row>(r.x, r.y); });
  (void)q.distinct().order_by([](auto r) { return r; }).to_vector();
  (void)q.group_by([](auto r) { return r; }).count().to_vector();
  (void)q.join(rows, [](auto r) { return r; }, [](auto r) { return r; }).count();
  (void)q.to_columns();
  q.write_csv("rows.csv");
}
