// group_join with functions that trace: what is computed of the matches, on every engine.
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

template <class Q> auto rows_of(const engine_config& e, const Q& q) {
  const std::string plan = q.explain();
  EXPECT_EQ(plan.find("opaque"), std::string::npos) << plan;
  if (e.accelerate) {
    const std::string line = plan.substr(plan.find("group_join", plan.find("machine graph")), 90);
    EXPECT_NE(line.find(" gpu: "), std::string::npos) << plan;
  }
  return q.to_vector();
}

struct summary {
  std::int32_t id;
  std::uint64_t n;
  std::int64_t total, greatest, last;
  bool heavy;
};
QUERY_RECORD(summary, id, n, total, greatest, last, heavy);

template <class R, class F>
std::vector<summary> summaries(const std::vector<trade>& left, const std::vector<std::vector<R>>& found, F factor) {
  std::vector<summary> all;
  for (std::size_t i = 0; i < left.size(); ++i) {
    summary s{left[i].id, found[i].size(), 0, -1, -1, false};
    for (const R& r : found[i]) {
      s.total += factor(r);
      s.greatest = &r == found[i].data() ? factor(r) : std::max(s.greatest, factor(r));
      s.last = factor(r);
      s.heavy = s.heavy || factor(r) > left[i].id;
    }
    all.push_back(s);
  }
  return all;
}
constexpr auto summed = [](auto t, auto own) {
  const auto factor = [](auto r) { return r.factor; };
  const auto n = own.size();
  if (own.empty()) return query::make<summary>(t.id, n, 0, -1, -1, false);
  return query::make<summary>(t.id, n, query::sum(own, factor), query::max(own, factor), own.back().factor,
                              query::any(own, [&](auto r) { return r.factor > t.id; }));
};

CONFORMS(group_joins, compute_sums_and_extremes_of_the_matches, "group_join") {
  for (const auto& l : trades()) {
    for (const auto& r : rates()) {
      SCOPED_TRACE(l.name + " with " + r.name);
      const auto factor = [](const rate& m) { return m.factor; };
      const auto keys = summaries(l.rows,
                                  matches(
                                      l.rows, r.rows, [](const trade& t) { return t.key; }, [](const rate& m) { return m.key; }),
                                  factor);
      const auto lots = summaries(l.rows,
                                  matches(
                                      l.rows, r.rows, [](const trade& t) { return t.lot; }, [](const rate& m) { return m.lot; }),
                                  factor);
      const auto names = summaries(l.rows,
                                   matches(
                                       l.rows, r.rows, [](const trade& t) { return t.name; }, [](const rate& m) { return m.name; }),
                                   factor);
      const auto a = source(e, l.rows);
      const auto b = source(e, r.rows);
      EXPECT_ROWS(rows_of(e, a.group_join(b, [](auto t) { return t.key; }, [](auto m) { return m.key; }, summed)), keys);
      EXPECT_ROWS(rows_of(e, a.group_join(b, [](auto t) { return t.lot; }, [](auto m) { return m.lot; }, summed)), lots);
      EXPECT_ROWS(rows_of(e, a.group_join(b, [](auto t) { return t.name; }, [](auto m) { return m.name; }, summed)), names);
    }
  }
}

CONFORMS(group_joins, give_the_matches_themselves, "group_join") {
  const auto& rows = few_trades();
  for (const auto& r : rates()) {
    SCOPED_TRACE(r.name);
    const auto found = matches(rows, r.rows, [](const trade& t) { return t.key; }, [](const rate& m) { return m.key; });
    std::vector<std::pair<std::string, std::vector<rate>>> wanted;
    std::vector<std::uint64_t> sizes;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      wanted.emplace_back(rows[i].name, found[i]);
      if (rows[i].id % 3 == 0) sizes.push_back(found[i].size());
    }
    const auto key = [](auto t) { return t.key; };
    EXPECT_ROWS(
        rows_of(e, source(e, rows).group_join(source(e, r.rows), key, key, [](auto t, auto own) { return std::make_pair(t.name, own); })),
        wanted);
    EXPECT_ROWS(rows_of(e, source(e, rows)
                               .where([](auto t) { return t.id % 3 == 0; })
                               .group_join(source(e, r.rows), key, key, [](auto, auto own) { return own.size(); })),
                sizes);
  }
}

CONFORMS(group_joins, of_many_rows_and_filtered_sides, "group_join", "where") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    std::vector<tick> left, right;
    for (std::size_t i = 0; i < d.rows.size(); i += 7) left.push_back(d.rows[i]);
    if (left.size() > 300) left.resize(300);
    right = kept(d.rows, [](const tick& t) { return t.amount > 0; });
    if (right.size() > 20000) right.resize(20000);
    const auto found = matches(left, right, [](const tick& t) { return t.key; }, [](const tick& t) { return t.key; });
    std::vector<std::tuple<std::int32_t, double, std::int64_t>> wanted;
    for (std::size_t i = 0; i < left.size(); ++i) {
      double sum = 0;
      std::int64_t later = 0;
      for (const tick& t : found[i]) {
        sum += t.price;
        later += t.id > left[i].id ? 1 : 0;
      }
      wanted.emplace_back(left[i].id, sum, later);
    }
    const auto key = [](auto t) { return t.key; };
    const auto q = source(e, left).group_join(source(e, right).where([](auto t) { return t.amount > 0; }), key, key, [](auto l, auto own) {
      return std::make_tuple(l.id, query::sum(own, [](auto t) { return t.price; }), query::count(own, [&](auto t) { return t.id > l.id; }));
    });
    EXPECT_ROWS(rows_of(e, q), wanted);
    // What comes behind it reads its rows where they are.
    std::int64_t all = 0;
    for (const auto& w : wanted) all += std::get<2>(w);
    EXPECT_EQ(q.sum([](auto t) { return std::get<2>(t); }), all);
    EXPECT_EQ(q.take(5).count(), static_cast<std::int64_t>(std::min<std::size_t>(wanted.size(), 5)));
  }
}

CONFORMS(group_joins, make_strings, "group_join") {
  const auto& rows = few_trades();
  const auto& right = rates()[3].rows;
  const auto found = matches(rows, right, [](const trade& t) { return t.key; }, [](const rate& m) { return m.key; });
  std::vector<std::pair<std::string, std::uint64_t>> wanted;
  for (std::size_t i = 0; i < rows.size(); ++i) wanted.emplace_back(rows[i].name + "/", found[i].size());
  const auto key = [](auto t) { return t.key; };
  EXPECT_ROWS(rows_of(e, source(e, rows).group_join(source(e, right), key, key,
                                                    [](auto t, auto own) { return std::make_pair(t.name + "/", own.size()); })),
              wanted);
}

}  // namespace
}  // namespace conformance
