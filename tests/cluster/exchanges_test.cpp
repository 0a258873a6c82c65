// What other processes send besides rows: states of groups, from records and columns, and ranges of an order.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <query/query.hpp>

#include "runtime/session_state.hpp"

namespace exchanges_test {

struct named {
  std::string name;
  std::int64_t id;
  std::optional<std::int32_t> maybe;
  double x;
};
QUERY_RECORD(named, name, id, maybe, x);
struct found {
  std::string name;
  std::int64_t sum, first, n;
  std::optional<std::int32_t> most;
  auto operator<=>(const found&) const = default;
};
QUERY_RECORD(found, name, sum, first, n, most);

struct rows_and_columns {
  explicit rows_and_columns(std::int64_t n, std::int64_t keys) {
    for (std::int64_t i = 0; i < n; ++i) {
      names.push_back("a name that no buffer within a string holds " + std::to_string(i * 7 % keys));
      ids.push_back(i);
      maybes.push_back(i % 3 ? std::optional(static_cast<std::int32_t>(i % 100)) : std::nullopt);
      xs.push_back(static_cast<double>(i * 31 % 1'009));
      rows.push_back({names.back(), i, maybes.back(), xs.back()});
    }
  }
  std::vector<std::string> names;
  std::vector<std::int64_t> ids;
  std::vector<std::optional<std::int32_t>> maybes;
  std::vector<double> xs;
  std::vector<named> rows;
};
// Both sources in one process and in three, by compiled and by interpreted functions.
template <class F> void expect_as_in_one(const rows_and_columns& all, const F& f) {
  const auto records = query::from(all.rows);
  const auto columns = query::from(query::columns<named>(all.names, all.ids, all.maybes, all.xs));
  for (const bool interpret : {false, true}) {
    const query::session_options o{.threads = 2, .interpret = interpret, .gpu = query::gpu_use::off};
    const query::Session one(o), three = query::Session::cluster("local:3", o);
    EXPECT_EQ(f(records.in(three)), f(records.in(one))) << "records" << (interpret ? ", interpreted" : "");
    EXPECT_EQ(f(columns.in(three)), f(columns.in(one))) << "columns" << (interpret ? ", interpreted" : "");
    EXPECT_GT(three.state()->sent_rows, 0u);
  }
}
const auto by_name = [](auto r) { return r.name; };
const auto groups = [](const auto& q) {
  auto all = q.where([](auto r) { return r.id % 5 != 2; })
                 .group_by(by_name)
                 .select([](auto g) {
                   return query::make<found>(g.key(), g.sum([](auto r) { return r.id; }), g.first([](auto r) { return r.id; }), g.count(),
                                             g.max([](auto r) { return r.maybe; }));
                 })
                 .to_vector();
  std::ranges::sort(all);
  return all;
};

TEST(exchanges, states_of_few_groups) { expect_as_in_one(rows_and_columns(20'000, 97), groups); }
TEST(exchanges, rows_as_groups_where_keys_are_many) { expect_as_in_one(rows_and_columns(300'000, 250'007), groups); }
TEST(exchanges, a_state_of_all_rows) {
  const auto reduced = [](const auto& q) {
    return q.reduce([](auto g) {
      return std::tuple(g.count(), g.max([](auto r) { return r.id; }), g.mean([](auto r) { return r.maybe; }));
    });
  };
  expect_as_in_one(rows_and_columns(10'000, 10), reduced);
  expect_as_in_one(rows_and_columns(2, 10), reduced);
}
TEST(exchanges, ranges_of_an_order) {
  const auto sorted = [](const auto& q) {
    return q.order_by([](auto r) { return r.maybe; }).then_by_descending([](auto r) { return r.x; }).then_by(by_name).select([](auto r) {
      return r.id;
    }).to_vector();
  };
  expect_as_in_one(rows_and_columns(20'000, 97), sorted);
  expect_as_in_one(rows_and_columns(1, 97), sorted);
}
TEST(exchanges, rows_that_lie_right_stay) {
  expect_as_in_one(rows_and_columns(20'000, 997), [](const auto& q) {
    auto all = q.group_by(by_name).select([](auto g) { return query::make<named>(g.key(), g.count(), std::nullopt, 0.0); })
                   .distinct_by(by_name).select(by_name).to_vector();
    std::ranges::sort(all);
    return all;
  });
}

}  // namespace exchanges_test
