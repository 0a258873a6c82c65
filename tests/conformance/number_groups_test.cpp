// Groups of rows of numbers, in the order of their first appearance: few and many groups, keys of each width.
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

struct total {
  std::int32_t key;
  std::int64_t amount;
  std::int64_t n;
};
QUERY_RECORD(total, key, amount, n);

template <class F> void check(const engine_config& e, const std::vector<tick>& rows, F key) {
  std::vector<total> wanted;
  for (const auto& [k, same] : grouped(rows, key)) {
    total t{same.front().key, 0, static_cast<std::int64_t>(same.size())};
    for (const tick& r : same) t.amount += r.amount;
    wanted.push_back(t);
  }
  const auto q = source(e, rows).group_by(key).select(
      [](auto g) { return query::make<total>(g.first([](auto t) { return t.key; }), g.sum([](auto t) { return t.amount; }), g.count()); });
  const auto counts = source(e, rows).group_by(key).select([](auto g) { return g.count(); });
  if (e.accelerate) {
    EXPECT_NE(q.as_ordered().explain().find("gpu: "), std::string::npos) << q.as_ordered().explain();
  }
  EXPECT_ROWS(q.as_ordered().to_vector(), wanted);
  EXPECT_ROWS(counts.as_ordered().to_vector(), selected(wanted, [](const total& t) { return t.n; }));
}

CONFORMS(number_groups, in_the_order_of_first_appearance, "group_by", "group_by.select", "as_ordered") {
  for (const auto& d : ticks()) {
    if (d.rows.size() > 70000) continue;
    SCOPED_TRACE(d.name);
    check(e, d.rows, [](auto t) { return t.key; });
    check(e, d.rows, [](auto t) { return std::make_tuple(t.amount, t.key, t.amount); });
  }
}
CONFORMS(number_groups, of_filtered_rows, "group_by", "where", "as_ordered") {
  const auto& rows = many_ticks();
  const auto wanted = grouped(kept(rows, [](const tick& t) { return t.id % 7 > 2; }), [](const tick& t) { return t.amount; });
  const auto q = source(e, rows).where([](auto t) { return t.id % 7 > 2; }).group_by([](auto t) { return t.amount; }).select([](auto g) {
    return g.key();
  });
  EXPECT_ROWS(q.as_ordered().to_vector(), selected(wanted, [](const auto& g) { return g.first; }));
}

}  // namespace
}  // namespace conformance
