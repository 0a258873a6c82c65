// Functions that capture strings, vectors and variables by reference: wherever they run, they give what compiled code gives.
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"

namespace conformance {
namespace {

struct word {
  std::int32_t id;
  double x;
  std::string text;
  std::optional<std::int32_t> maybe;
};
QUERY_RECORD(word, id, x, text, maybe);
struct sum_of {
  std::string text;
  double x;
  std::int64_t n;
};
QUERY_RECORD(sum_of, text, x, n);

const std::string longer = "longer than a string that lies within itself";

std::vector<word> words(int n) {
  const std::string texts[] = {"", "a", longer, "ab", longer + "!", std::string("a\0b", 3)};
  using limits = std::numeric_limits<double>;
  const double numbers[] = {0.0, -0.0, 1e300, -1e-300, limits::infinity(), limits::quiet_NaN(), 0.1};
  std::vector<word> all;
  for (int i = 0; i < n; ++i)
    all.push_back({i, numbers[i % 7], texts[i % 6], i % 3 ? std::optional<std::int32_t>(i % 11) : std::nullopt});
  return all;
}

CONFORMS(captured_strings, in_rows, "where", "select", "order_by") {
  for (const int n : {0, 1, 5, 3000}) {
    SCOPED_TRACE(n);
    const std::vector<word> rows = words(n);
    const std::vector<double> rates{0.1, -0.0};
    for (const std::string& w : {longer, std::string("a\0b", 3), std::string()}) {
      const auto q = source(e, rows);
      EXPECT_ROWS(q.where([w](auto r) { return r.text == w; }).to_vector(), kept(rows, [&](const word& r) { return r.text == w; }));
      EXPECT_ROWS(q.where([&w](auto r) { return r.text < w; }).to_vector(), kept(rows, [&](const word& r) { return r.text < w; }));
      const auto made = q.where([w](auto r) { return r.text != w; })
                            .select([rates, w](auto r) { return query::make<sum_of>(w, r.x * rates[0] + rates[1], r.maybe.value_or(3)); })
                            .to_vector();
      std::vector<sum_of> wanted;
      for (const word& r : rows)
        if (r.text != w) wanted.push_back({w, r.x * rates[0] + rates[1], r.maybe.value_or(3)});
      EXPECT_ROWS(made, wanted);
      std::vector<std::int32_t> order;
      for (const bool same : {false, true})
        for (const word& r : rows)
          if ((r.text == w) == same) order.push_back(r.id);
      const auto sorted = q.order_by([w](auto r) { return r.text == w; }).then_by([](auto r) { return r.id; });
      EXPECT_ROWS(sorted.select([](auto r) { return r.id; }).to_vector(), order);
    }
  }
}

CONFORMS(captured_strings, in_groups_and_joins, "group_by", "join", "distinct_by", "do_while") {
  for (const int n : {0, 1, 3000}) {
    SCOPED_TRACE(n);
    const std::vector<word> rows = words(n);
    const std::string w = longer;
    const std::vector<std::int64_t> steps{2, 5};
    const auto q = source(e, rows);
    std::int64_t same = 0, sum = 0;
    for (const word& r : rows)
      if (r.text == w) same += 1, sum += r.id * steps[1];
    std::vector<std::int64_t> counts;
    if (n > 2) counts = {same, sum};
    std::vector<std::int64_t> found;
    const auto times = [steps](auto r) { return query::cast<std::int64_t>(r.id) * steps[1]; };
    const auto groups = q.group_by([w](auto r) { return query::iff(r.text == w, w, std::string("other")); })
                            .select([times](auto g) { return std::tuple(g.key(), g.count(), g.sum(times)); })
                            .to_vector();
    for (const auto& [key, count, total] : groups)
      if (key == w) found = {count, total};
    EXPECT_EQ(found, counts);
    const auto joined = q.join(q.where([&w](auto r) { return r.text == w; }), [w](auto r) { return query::iff(r.text == w, r.id, -1); },
                               [](auto r) { return r.id; }, [w](auto l, auto r) { return query::make<sum_of>(w, l.x, r.id); })
                            .order_by([](auto s) { return s.n; })
                            .to_vector();
    std::vector<sum_of> pairs;
    for (const word& r : rows)
      if (r.text == w) pairs.push_back({w, r.x, r.id});
    EXPECT_ROWS(joined, pairs);
    const auto next = [steps](auto x) { return x * steps[0] + steps[1]; };
    const auto last = q.select([](auto r) { return query::cast<std::int64_t>(r.id); })
                          .do_while([next](query::Query<std::int64_t> now) { return now.select(next); }, query::times(3))
                          .distinct_by([steps](auto x) { return x + steps[0]; })
                          .order_by([](auto x) { return x; })
                          .to_vector();
    std::vector<std::int64_t> rounds;
    for (const word& r : rows) rounds.push_back(((r.id * 2 + 5) * 2 + 5) * 2 + 5);
    EXPECT_EQ(last, rounds);
  }
}

}  // namespace
}  // namespace conformance
