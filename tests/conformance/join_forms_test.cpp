// Joins: result forms, common key types, large sides, group_join, cross_join, self joins.
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

struct match {
  std::int32_t id;
  std::int64_t factor;
  std::string name;
};
QUERY_RECORD(match, id, factor, name);

CONFORMS(join_forms, without_a_result_function_rows_come_as_pairs, "join", "left_join") {
  const auto& rows = few_trades();
  const auto& right = rates()[3].rows;
  const auto found = matches(rows, right, [](const trade& t) { return t.key; }, [](const rate& r) { return r.key; });
  std::vector<std::pair<trade, rate>> wanted;
  std::vector<std::pair<trade, std::optional<rate>>> outer;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const rate& m : found[i]) wanted.emplace_back(rows[i], m);
    for (const rate& m : found[i]) outer.emplace_back(rows[i], m);
    if (found[i].empty()) outer.emplace_back(rows[i], std::nullopt);
  }
  const auto key = [](auto t) { return t.key; };
  EXPECT_SAME_ROWS(source(e, rows).join(source(e, right), key, key).to_vector(), wanted);
  EXPECT_ROWS(source(e, rows).left_join(source(e, right), key, key).as_ordered().to_vector(), outer);
}

CONFORMS(join_forms, keys_of_different_number_types_meet_in_the_common_type, "join") {
  const auto& rows = few_trades();
  const auto& right = rates()[2].rows;
  const auto amounts = matches(rows, right, [](const trade& t) { return t.amount; }, [](const rate& r) { return std::int64_t{r.key}; });
  const auto lots = matches(rows, right, [](const trade& t) { return t.lot; }, [](const rate& r) { return std::optional(r.key); });
  std::vector<match> by_amount, by_lot;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const rate& m : amounts[i]) by_amount.push_back({rows[i].id, m.factor, m.name});
    for (const rate& m : lots[i]) by_lot.push_back({rows[i].id, m.factor, m.name});
  }
  const auto result = [](auto t, auto m) { return query::make<match>(t.id, m.factor, m.name); };
  EXPECT_ROWS(source(e, rows)
                  .join(
                      source(e, right), [](auto t) { return t.amount; }, [](auto r) { return r.key; }, result)
                  .as_ordered()
                  .to_vector(),
              by_amount);
  EXPECT_ROWS(source(e, rows)
                  .join(
                      source(e, right), [](auto t) { return t.lot; }, [](auto r) { return r.key; }, result)
                  .as_ordered()
                  .to_vector(),
              by_lot);
}

CONFORMS(join_forms, large_sides, "join", "semi_join", "anti_join") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    std::vector<tick> right;
    for (std::size_t i = 0; i < d.rows.size(); i += 3) right.push_back(d.rows[i]);
    const auto id = [](const tick& t) { return t.id; };
    std::vector<std::pair<std::int32_t, std::int64_t>> wanted;
    for (const tick& t : right) wanted.emplace_back(t.id, t.amount);
    const auto key = [](auto t) { return t.id; };
    const auto result = [](const tick& a, const tick& b) { return std::pair(a.id, b.amount); };
    EXPECT_SAME_ROWS(source(e, d.rows).join(source(e, right), key, key, result).to_vector(), wanted);
    EXPECT_ROWS(source(e, d.rows).join(source(e, right), key, key, result).as_ordered().to_vector(), wanted);
    EXPECT_SAME_ROWS(source(e, right).join(source(e, d.rows), key, key, result).to_vector(), wanted);
    EXPECT_ROWS(source(e, d.rows).semi_join(source(e, right), key, key).as_ordered().to_vector(),
                kept(d.rows, [&](const tick& t) { return id(t) % 3 == 0; }));
    EXPECT_ROWS(source(e, d.rows).anti_join(source(e, right), key, key).as_ordered().to_vector(),
                kept(d.rows, [&](const tick& t) { return id(t) % 3 != 0; }));
  }
}

CONFORMS(join_forms, inputs_and_results_may_be_filtered, "join", "where") {
  const auto& rows = many_ticks();
  const auto& right = rates()[2].rows;
  std::vector<std::pair<std::int32_t, std::int64_t>> wanted;
  for (const tick& t : rows)
    for (const rate& r : right)
      if (t.amount > 0 && r.factor % 2 == 0 && t.key == r.key && t.id % 5 == 1) wanted.emplace_back(t.id, r.factor);
  const auto key = [](auto t) { return t.key; };
  EXPECT_ROWS(source(e, rows)
                  .where([](auto t) { return t.amount > 0; })
                  .join(source(e, right).where([](auto r) { return r.factor % 2 == 0; }), key, key,
                        [](const tick& t, const rate& r) { return std::pair(t.id, r.factor); })
                  .as_ordered()
                  .where([](const auto& p) { return p.first % 5 == 1; })
                  .to_vector(),
              wanted);
}

CONFORMS(join_forms, group_join_gives_each_left_row_its_matches_in_order, "group_join") {
  using row = std::pair<std::int32_t, std::vector<std::int64_t>>;
  for (const auto& l : trades()) {
    for (const auto& r : rates()) {
      SCOPED_TRACE(l.name + " with " + r.name);
      const auto by_key = matches(l.rows, r.rows, [](const trade& t) { return t.key; }, [](const rate& m) { return m.key; });
      const auto by_lot = matches(l.rows, r.rows, [](const trade& t) { return t.lot; }, [](const rate& m) { return m.lot; });
      std::vector<row> keys, lots;
      for (std::size_t i = 0; i < l.rows.size(); ++i) {
        keys.emplace_back(l.rows[i].id, selected(by_key[i], [](const rate& m) { return m.factor; }));
        lots.emplace_back(l.rows[i].id, selected(by_lot[i], [](const rate& m) { return m.factor; }));
      }
      const auto result = [](const trade& t, const std::vector<rate>& m) {
        return row(t.id, selected(m, [](const rate& x) { return x.factor; }));
      };
      EXPECT_ROWS(source(e, l.rows)
                      .group_join(
                          source(e, r.rows), [](auto t) { return t.key; }, [](auto m) { return m.key; }, result)
                      .to_vector(),
                  keys);
      EXPECT_ROWS(source(e, l.rows)
                      .group_join(
                          source(e, r.rows), [](auto t) { return t.lot; }, [](auto m) { return m.lot; }, result)
                      .to_vector(),
                  lots);
    }
  }
}

CONFORMS(join_forms, cross_join_pairs_every_row_with_every_row, "cross_join") {
  for (const auto& l : small_ticks()) {
    for (const auto& r : rates()) {
      SCOPED_TRACE(l.name + " with " + r.name);
      std::vector<std::pair<std::int32_t, std::int64_t>> wanted;
      for (const tick& t : l.rows)
        for (const rate& m : r.rows) wanted.emplace_back(t.id, m.factor);
      const auto q =
          source(e, l.rows).cross_join(source(e, r.rows), [](const tick& t, const rate& m) { return std::pair(t.id, m.factor); });
      EXPECT_SAME_ROWS(q.to_vector(), wanted);
      EXPECT_ROWS(q.as_ordered().to_vector(), wanted);
      EXPECT_EQ(source(e, l.rows).cross_join(source(e, r.rows)).count(), static_cast<std::int64_t>(wanted.size()));
    }
  }
}

CONFORMS(join_forms, a_query_joined_with_itself, "join") {
  const auto& rows = small_ticks()[3].rows;
  std::int64_t wanted = 0;
  for (const auto& [k, same] : grouped(rows, [](const tick& t) { return t.key; }))
    wanted += static_cast<std::int64_t>(same.size() * same.size());
  const auto q = source(e, rows).where([](auto t) { return t.id >= 0; });
  const auto key = [](auto t) { return t.key; };
  EXPECT_EQ(q.join(q, key, key).count(), wanted);
}

}  // namespace
}  // namespace conformance
