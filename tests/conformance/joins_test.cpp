// join, left_join, right_join, full_join, semi_join, anti_join, group_join, cross_join against nested loops.
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

struct pairing {
  std::optional<std::int32_t> id;
  std::optional<std::int64_t> factor;
};
QUERY_RECORD(pairing, id, factor);

// All pair joins of trades and rates by one pair of keys.
template <class LN, class RN, class LF, class RF> void check_joins(const engine_config& e, LN left_native, RN right_native, LF lf, RF rf) {
  for (const auto& l : trades()) {
    for (const auto& r : rates()) {
      SCOPED_TRACE(l.name + " with " + r.name);
      const auto found = matches(l.rows, r.rows, left_native, right_native);
      const auto back = matches(r.rows, l.rows, right_native, left_native);
      std::vector<pairing> inner, left, right, full;
      std::vector<trade> semi, anti;
      for (std::size_t i = 0; i < l.rows.size(); ++i) {
        for (const rate& m : found[i]) inner.push_back({l.rows[i].id, m.factor});
        for (const rate& m : found[i]) left.push_back({l.rows[i].id, m.factor});
        if (found[i].empty()) left.push_back({l.rows[i].id, std::nullopt});
        (found[i].empty() ? anti : semi).push_back(l.rows[i]);
      }
      right = inner;
      full = left;
      for (std::size_t i = 0; i < r.rows.size(); ++i)
        if (back[i].empty()) {
          right.push_back({std::nullopt, r.rows[i].factor});
          full.push_back({std::nullopt, r.rows[i].factor});
        }
      const auto a = source(e, l.rows);
      const auto b = source(e, r.rows);
      const auto both = a.join(b, lf, rf, [](auto t, auto m) { return query::make<pairing>(t.id, m.factor); });
      EXPECT_SAME_ROWS(both.to_vector(), inner);
      EXPECT_ROWS(both.as_ordered().to_vector(), inner);
      const auto outer = a.left_join(b, lf, rf, [](const trade& t, const std::optional<rate>& m) {
        return pairing{t.id, m ? std::optional(m->factor) : std::nullopt};
      });
      EXPECT_SAME_ROWS(outer.to_vector(), left);
      EXPECT_ROWS(outer.as_ordered().to_vector(), left);
      EXPECT_SAME_ROWS(a.right_join(b, lf, rf,
                                    [](const std::optional<trade>& t, const rate& m) {
                                      return pairing{t ? std::optional(t->id) : std::nullopt, m.factor};
                                    })
                           .to_vector(),
                       right);
      EXPECT_SAME_ROWS(a.full_join(b, lf, rf, [](const std::optional<trade>& t, const std::optional<rate>& m) {
        return pairing{t ? std::optional(t->id) : std::nullopt, m ? std::optional(m->factor) : std::nullopt};
      }).to_vector(), full);
      EXPECT_SAME_ROWS(a.semi_join(b, lf, rf).to_vector(), semi);
      EXPECT_ROWS(a.semi_join(b, lf, rf).as_ordered().to_vector(), semi);
      EXPECT_SAME_ROWS(a.anti_join(b, lf, rf).to_vector(), anti);
      EXPECT_ROWS(a.anti_join(b, lf, rf).as_ordered().to_vector(), anti);
    }
  }
}

CONFORMS(joins, by_number, "join", "left_join", "right_join", "full_join", "semi_join", "anti_join") {
  check_joins(
      e, [](const trade& t) { return t.key; }, [](const rate& r) { return r.key; }, [](auto t) { return t.key; },
      [](auto r) { return r.key; });
}
CONFORMS(joins, nulls_match_nothing, "join", "left_join", "right_join", "full_join", "semi_join", "anti_join") {
  check_joins(
      e, [](const trade& t) { return t.lot; }, [](const rate& r) { return r.lot; }, [](auto t) { return t.lot; },
      [](auto r) { return r.lot; });
}
CONFORMS(joins, by_string, "join", "left_join", "right_join", "full_join", "semi_join", "anti_join") {
  check_joins(
      e, [](const trade& t) { return t.name; }, [](const rate& r) { return r.name; }, [](auto t) { return t.name; },
      [](auto r) { return r.name; });
}
CONFORMS(joins, composite_keys_with_nulls_in_them, "join", "left_join", "right_join", "full_join", "semi_join", "anti_join") {
  check_joins(e, [](const trade& t) { return std::tuple(t.key, t.lot); }, [](const rate& r) { return std::tuple(r.key, r.lot); },
              [](const trade& t) { return std::tuple(t.key, t.lot); }, [](const rate& r) { return std::tuple(r.key, r.lot); });
}

// More than a million pairs, each build row in a thousand of them: a GPU lays build rows side by side then.
CONFORMS(joins, many_partners, "join", "left_join", "full_join") {
  std::vector<trade> left(6000);
  std::vector<rate> right(1500);
  for (std::size_t i = 0; i < left.size(); ++i) left[i].id = static_cast<std::int32_t>(i), left[i].key = static_cast<std::int32_t>(i % 3);
  for (std::size_t i = 0; i < right.size(); ++i)
    right[i] = {static_cast<std::int32_t>(i % 2 ? 7 : i % 4 / 2), static_cast<std::int64_t>(i), std::string(i % 30, 'x'), std::nullopt};
  using pair = std::pair<std::int32_t, std::int64_t>;
  std::vector<pair> inner, outer, full;
  for (const trade& t : left) {
    const std::size_t before = inner.size();
    for (const rate& r : right)
      if (r.key == t.key) inner.emplace_back(t.id, r.factor + static_cast<std::int64_t>(r.name.size()));
    for (std::size_t i = before; i < inner.size(); ++i) outer.push_back(inner[i]);
    if (inner.size() == before) outer.emplace_back(t.id, -1);
  }
  full = outer;
  for (const rate& r : right)
    if (r.key == 7) full.emplace_back(-1, r.factor + static_cast<std::int64_t>(r.name.size()));
  const auto a = source(e, left);
  const auto b = source(e, right);
  const auto key = [](auto row) { return row.key; };
  const auto pairs =
      a.join(b, key, key, [](auto t, auto r) { return std::make_pair(t.id, r.factor + query::cast<std::int64_t>(r.name.size())); });
  EXPECT_ROWS(pairs.as_ordered().to_vector(), inner);
  EXPECT_EQ(pairs.count(), inner.size());
  EXPECT_ROWS(a.left_join(b, key, key, [](auto t, auto r) {
    return std::make_pair(t.id, query::iff(r.has_value(), r->factor + query::cast<std::int64_t>(r->name.size()), std::int64_t{-1}));
  }).as_ordered().to_vector(), outer);
  EXPECT_SAME_ROWS(a.full_join(b, key, key, [](auto t, auto r) {
    return std::make_pair(query::iff(t.has_value(), t->id, std::int32_t{-1}),
                          query::iff(r.has_value(), r->factor + query::cast<std::int64_t>(r->name.size()), std::int64_t{-1}));
  }).to_vector(), full);
}

}  // namespace
}  // namespace conformance
