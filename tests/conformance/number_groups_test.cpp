// Groups of rows of numbers, in the order of their first appearance: few and many groups, keys of each width.
#include <algorithm>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"
#include "planned_there.hpp"

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
    EXPECT_TRUE(planned_there(q.as_ordered().explain()));
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

// How many groups a key makes of kept rows is remembered with them: other numbers in the key or the filter make others.
CONFORMS(number_groups, of_kept_rows_again_and_again, "group_by", "cached", "where") {
  const auto& rows = many_ticks();
  const auto there = source(e, rows).cached();
  for (const std::int64_t modulus : {5, 700, 5, 50000, 50000}) {
    for (const std::int64_t from : {0, 3}) {
      SCOPED_TRACE(std::to_string(modulus) + " from " + std::to_string(from));
      std::vector<std::pair<std::int64_t, std::int64_t>> wanted;
      const auto left = kept(rows, [from](const tick& t) { return t.id % 10 >= from; });
      for (const auto& [k, same] : grouped(left, [modulus](const tick& t) { return static_cast<std::int64_t>(t.id) % modulus; })) {
        std::int64_t sum = 0;
        for (const tick& t : same) sum += t.amount;
        wanted.emplace_back(k, sum);
      }
      const auto q = there.where([from](auto t) { return query::cast<std::int64_t>(t.id) % 10 >= from; })
                         .group_by([modulus](auto t) { return query::cast<std::int64_t>(t.id) % modulus; })
                         .select([](auto g) { return std::pair(g.key(), g.sum([](auto t) { return t.amount; })); });
      EXPECT_ROWS(q.as_ordered().to_vector(), wanted);
      auto unordered = q.to_vector();
      std::sort(unordered.begin(), unordered.end());
      std::sort(wanted.begin(), wanted.end());
      EXPECT_ROWS(unordered, wanted);
    }
  }
}

}  // namespace
}  // namespace conformance
