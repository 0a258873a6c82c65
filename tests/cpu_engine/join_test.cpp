// Joins through the public API, against nested loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <query/query.hpp>

namespace query::tests {

struct Order {
  std::int64_t id;
  std::int64_t customer;
  double amount;
};
QUERY_RECORD(Order, id, customer, amount);
struct Customer {
  std::int64_t id;
  std::string name;
};
QUERY_RECORD(Customer, id, name);

namespace {

using pair_of_ids = std::pair<std::int64_t, std::int64_t>;  // order, customer; -1 for a missing side

std::vector<Order> some_orders(std::size_t n, std::int64_t customers, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Order> orders;
  for (std::size_t i = 0; i < n; ++i)
    orders.push_back(
        {static_cast<std::int64_t>(i), static_cast<std::int64_t>(random() % static_cast<unsigned>(customers)), static_cast<double>(i) / 2});
  return orders;
}
// Every third id is missing, every seventh is there twice.
std::vector<Customer> some_customers(std::int64_t n) {
  std::vector<Customer> customers;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i % 3 == 0) continue;
    customers.push_back({i, "customer number " + std::to_string(i)});
    if (i % 7 == 0) customers.push_back({i, "its twin, whose name is too long for a small string"});
  }
  return customers;
}

struct expected_ids {
  std::vector<pair_of_ids> matches;
  std::vector<std::int64_t> lonely_orders, lonely_customers;
};
expected_ids nested_loops(const std::vector<Order>& orders, const std::vector<Customer>& customers) {
  std::multimap<std::int64_t, std::int64_t> by_id;
  for (const Customer& c : customers) by_id.emplace(c.id, c.id);
  expected_ids e;
  std::map<std::int64_t, bool> used;
  for (const Order& o : orders) {
    const auto [begin, end] = by_id.equal_range(o.customer);
    for (auto at = begin; at != end; ++at) e.matches.emplace_back(o.id, at->second);
    if (begin == end) e.lonely_orders.push_back(o.id);
    else used[o.customer] = true;
  }
  for (const Customer& c : customers)
    if (!used.count(c.id)) e.lonely_customers.push_back(c.id);
  return e;
}

std::vector<pair_of_ids> sorted(std::vector<pair_of_ids> v) {
  std::sort(v.begin(), v.end());
  return v;
}

constexpr auto order_key = [](const auto& o) { return o.customer; };
constexpr auto customer_key = [](const auto& c) { return c.id; };

class joins : public ::testing::TestWithParam<std::size_t> {
 protected:
  std::vector<Order> orders = some_orders(GetParam(), 200, 1);
  std::vector<Customer> customers = some_customers(260);
  expected_ids expected = nested_loops(orders, customers);
};

TEST_P(joins, inner_join_gives_every_matching_pair) {
  const auto rows = from(orders)
                        .join(from(customers), order_key, customer_key, [](const auto& o, const auto& c) { return std::pair(o.id, c.id); })
                        .to_vector();
  EXPECT_EQ(sorted(rows), sorted(expected.matches));
}

TEST_P(joins, inner_join_keeps_strings_of_both_sides) {
  const auto rows = from(customers)
                        .join(from(orders), customer_key, order_key, [](const auto& c, const auto& o) { return std::pair(c.name, o.id); })
                        .to_vector();
  ASSERT_EQ(rows.size(), expected.matches.size());
  for (const auto& [name, id] : rows)
    EXPECT_TRUE(name.starts_with("its twin") || name == "customer number " + std::to_string(orders[static_cast<std::size_t>(id)].customer));
}

TEST_P(joins, left_join_keeps_left_rows_without_a_match) {
  auto all = expected.matches;
  for (std::int64_t id : expected.lonely_orders) all.emplace_back(id, -1);
  const auto rows = from(orders).left_join(from(customers), order_key, customer_key, [](const Order& o, const std::optional<Customer>& c) {
    return std::pair<std::int64_t, std::int64_t>(o.id, c ? c->id : -1);
  }).to_vector();
  EXPECT_EQ(sorted(rows), sorted(all));
}

TEST_P(joins, right_join_keeps_right_rows_without_a_match) {
  auto all = expected.matches;
  for (std::int64_t id : expected.lonely_customers) all.emplace_back(-1, id);
  const auto rows = from(orders).right_join(from(customers), order_key, customer_key, [](const std::optional<Order>& o, const Customer& c) {
    return std::pair<std::int64_t, std::int64_t>(o ? o->id : -1, c.id);
  }).to_vector();
  EXPECT_EQ(sorted(rows), sorted(all));
}

TEST_P(joins, full_join_keeps_both) {
  auto all = expected.matches;
  for (std::int64_t id : expected.lonely_orders) all.emplace_back(id, -1);
  for (std::int64_t id : expected.lonely_customers) all.emplace_back(-1, id);
  const auto rows = from(orders)
                        .full_join(from(customers), order_key, customer_key,
                                   [](const std::optional<Order>& o, const std::optional<Customer>& c) {
                                     return std::pair<std::int64_t, std::int64_t>(o ? o->id : -1, c ? c->id : -1);
                                   })
                        .to_vector();
  EXPECT_EQ(sorted(rows), sorted(all));
}

TEST_P(joins, semi_and_anti_join_divide_the_left_rows_in_order) {
  std::vector<std::int64_t> with, without;
  for (const Order& o : from(orders).semi_join(from(customers), order_key, customer_key).as_ordered().to_vector()) with.push_back(o.id);
  for (const Order& o : from(orders).anti_join(from(customers), order_key, customer_key).as_ordered().to_vector()) without.push_back(o.id);
  EXPECT_EQ(without, expected.lonely_orders);
  EXPECT_EQ(with.size() + without.size(), orders.size());
  EXPECT_TRUE(std::is_sorted(with.begin(), with.end()));
}

TEST_P(joins, semi_join_hands_on_rows_with_strings) {
  const auto rows = from(customers).semi_join(from(orders), customer_key, order_key).to_vector();
  std::size_t n = 0;
  for (const Customer& c : customers)
    n += std::any_of(orders.begin(), orders.end(), [&](const Order& o) { return o.customer == c.id; });
  EXPECT_EQ(rows.size(), n);
  for (const Customer& c : rows) EXPECT_FALSE(c.name.empty());
}

TEST_P(joins, group_join_gives_each_left_row_its_matches_in_order) {
  const auto rows = from(customers).group_join(from(orders), customer_key, order_key, [](const Customer& c, const std::vector<Order>& own) {
    std::int64_t sum = 0;
    for (const Order& o : own) sum += o.id;
    return std::tuple(c.id, static_cast<std::int64_t>(own.size()), sum,
                      std::is_sorted(own.begin(), own.end(), [](const Order& a, const Order& b) { return a.id < b.id; }));
  }).to_vector();
  ASSERT_EQ(rows.size(), customers.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::int64_t n = 0, sum = 0;
    for (const Order& o : orders)
      if (o.customer == customers[i].id) {
        ++n;
        sum += o.id;
      }
    EXPECT_EQ(rows[i], std::tuple(customers[i].id, n, sum, true));
  }
}

TEST_P(joins, group_join_collects_rows_with_strings) {
  const auto rows = from(orders).group_join(from(customers), order_key, customer_key, [](const Order& o, const std::vector<Customer>& own) {
    return std::pair(o.id, own.empty() ? std::string() : own.front().name);
  }).to_vector();
  ASSERT_EQ(rows.size(), orders.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].first, orders[i].id);
    EXPECT_EQ(rows[i].second, orders[i].customer % 3 == 0 ? "" : "customer number " + std::to_string(orders[i].customer));
  }
}

INSTANTIATE_TEST_SUITE_P(rows, joins, ::testing::Values(std::size_t{0}, std::size_t{1}, std::size_t{3000}, std::size_t{150000}));

TEST(join, nulls_match_nothing_but_stay_in_outer_joins) {
  using maybe = std::pair<std::optional<int>, int>;  // a key with a null part is null
  const std::vector<maybe> left{{1, 0}, {std::nullopt, 0}, {2, 0}}, right{{std::nullopt, 0}, {2, 0}, {2, 0}};
  const auto same = [](const auto& x) { return x; };
  EXPECT_EQ(from(left).join(from(right), same, same).to_vector().size(), 2u);
  EXPECT_EQ(from(left).left_join(from(right), same, same, [](maybe, std::optional<maybe> r) { return r.has_value(); }).to_vector().size(),
            4u);
  EXPECT_EQ(
      from(left)
          .full_join(from(right), same, same, [](std::optional<maybe> l, std::optional<maybe> r) { return l.has_value() && r.has_value(); })
          .to_vector()
          .size(),
      5u);
  EXPECT_EQ(from(left).anti_join(from(right), same, same).to_vector(), (std::vector<maybe>{{1, 0}, {std::nullopt, 0}}));
}

// Joins over integer keys of some distribution, with plain rows on both sides, against a map.
template <class K> void check_integer_keys(const std::vector<K>& left, const std::vector<K>& right) {
  std::multimap<K, std::int64_t> by_key;
  for (std::size_t i = 0; i < right.size(); ++i) by_key.emplace(right[i], static_cast<std::int64_t>(i));
  using keyed = std::pair<K, std::int64_t>;
  std::vector<keyed> l, r;
  for (std::size_t i = 0; i < left.size(); ++i) l.emplace_back(left[i], static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i < right.size(); ++i) r.emplace_back(right[i], static_cast<std::int64_t>(i));
  std::vector<pair_of_ids> inner, outer;
  std::vector<std::int64_t> with, without;
  for (const auto& [key, id] : l) {
    const auto [begin, end] = by_key.equal_range(key);
    for (auto at = begin; at != end; ++at) inner.emplace_back(id, at->second);
    for (auto at = begin; at != end; ++at) outer.emplace_back(id, at->second);
    if (begin == end) outer.emplace_back(id, -1);
    (begin == end ? without : with).push_back(id);
  }
  const auto key = [](const auto& x) { return x.first; };
  const auto ids = [](const keyed& a, const keyed& b) { return pair_of_ids(a.second, b.second); };
  const auto joined = from(l).join(from(r), key, key, ids);
  EXPECT_EQ(sorted(joined.to_vector()), sorted(inner));
  EXPECT_EQ(joined.count(), static_cast<std::int64_t>(inner.size()));
  const auto left_joined = from(l).left_join(
      from(r), key, key, [](const keyed& a, const std::optional<keyed>& b) { return pair_of_ids(a.second, b ? b->second : -1); });
  EXPECT_EQ(sorted(left_joined.to_vector()), sorted(outer));
  EXPECT_EQ(left_joined.count(), static_cast<std::int64_t>(outer.size()));
  EXPECT_EQ(from(l).semi_join(from(r), key, key).select([](const auto& x) { return x.second; }).to_vector(), with);
  EXPECT_EQ(from(l).anti_join(from(r), key, key).select([](const auto& x) { return x.second; }).to_vector(), without);
  const auto mirrored = [](const auto& x) { return query::cast<K>(~x.first); };  // a computed key
  EXPECT_EQ(from(l).join(from(r), mirrored, mirrored, ids).count(), joined.count());
}

TEST(join, integer_keys_of_every_width_and_distribution) {
  std::mt19937_64 random(9);
  const auto draw = [&]<class K>(std::type_identity<K>, std::size_t n, std::uint64_t range, bool unique) {
    std::vector<K> v;
    for (std::size_t i = 0; i < n; ++i) v.push_back(static_cast<K>(unique ? i * range / n : random() % range));
    std::shuffle(v.begin(), v.end(), random);
    for (K& k : v) k = static_cast<K>(k - static_cast<K>(range / 2));
    return v;
  };
  const auto check = [&]<class K>(std::type_identity<K> t, std::uint64_t most) {
    for (const bool unique : {true, false})
      for (const std::uint64_t range : {std::uint64_t{100}, std::uint64_t{2000}, std::uint64_t{1} << 40})
        if (range <= most) check_integer_keys<K>(draw(t, 3000, range, false), draw(t, 100, range, unique));
  };
  check(std::type_identity<std::int8_t>{}, 256);
  check(std::type_identity<std::uint16_t>{}, 1 << 16);
  check(std::type_identity<std::int32_t>{}, 1u << 31);
  check(std::type_identity<std::uint64_t>{}, ~0ull);
  check(std::type_identity<std::int64_t>{}, ~0ull);
  constexpr auto low = std::numeric_limits<std::int64_t>::min(), high = std::numeric_limits<std::int64_t>::max();
  check_integer_keys<std::int64_t>({low, high, 0, -1, low + 1}, {low, low + 1, low + 2});
  check_integer_keys<std::int64_t>({low, high, 0, -1}, {high, low});
  check_integer_keys<std::int64_t>({low, high, 0, -1}, {});
}

TEST(join, a_key_with_many_matches_does_not_overflow_a_batch) {
  const std::vector<int> left(70, 5), right(1500, 5);
  const auto same = [](const auto& x) { return x; };
  EXPECT_EQ(from(left).join(from(right), same, same, [](int a, int b) { return a + b; }).count(), 70 * 1500);
  const auto sizes = from(left).group_join(from(right), same, same, [](int, const std::vector<int>& r) { return r.size(); }).to_vector();
  EXPECT_EQ(sizes, std::vector<std::size_t>(70, 1500));
}

TEST(join, cross_join_gives_left_rows_with_all_right_rows_in_order) {
  const std::vector<int> left{1, 2, 3};
  std::vector<int> right(50000);
  for (std::size_t i = 0; i < right.size(); ++i) right[i] = static_cast<int>(i);
  const auto rows = from(left).cross_join(from(right)).to_vector();
  ASSERT_EQ(rows.size(), 150000u);
  for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], std::pair(left[i / 50000], right[i % 50000]));
  EXPECT_EQ(from(left).cross_join(from(std::vector<int>{})).count(), 0);
}

TEST(join, rows_may_be_filtered_on_both_sides) {
  const auto orders = some_orders(10000, 100, 2);
  const auto customers = some_customers(100);
  const auto n = from(orders)
                     .where([](const auto& o) { return o.id % 2 == 0; })
                     .join(from(customers).where([](const auto& c) { return c.id > 50; }), order_key, customer_key,
                           [](const auto& o, const auto&) { return o.customer; })
                     .where([](const auto& id) { return id < 90; })
                     .count();
  std::int64_t expected = 0;
  for (const Order& o : orders)
    for (const Customer& c : customers) expected += o.id % 2 == 0 && c.id > 50 && o.customer == c.id && o.customer < 90;
  EXPECT_EQ(n, expected);
}

TEST(join, an_exception_of_the_result_function_reaches_the_caller) {
  const auto orders = some_orders(100000, 100, 2);
  const auto boom = [](const Order& o, const Customer& c) -> std::int64_t {
    if (o.id == 77777) throw std::runtime_error("boom");
    return c.id;
  };
  const auto customers = some_customers(100);
  std::vector<Order> with_match;
  for (Order o : orders) {
    o.customer = 1;
    with_match.push_back(o);
  }
  EXPECT_THROW((void)from(with_match).join(from(customers), order_key, customer_key, boom).to_vector(), std::runtime_error);
}

TEST(join, interpreted_joins_give_the_same) {
  session_options options;
  options.interpret = true;
  const Session session(options);
  const auto orders = some_orders(5000, 100, 3);
  const auto customers = some_customers(130);
  const auto inner = [](const auto& o, const auto& c) { return std::pair(o.id, c.id); };
  const auto outer = [](const auto& o, const auto& c) { return o.id + query::iff(c.has_value(), c->id, std::int64_t{-1}); };
  EXPECT_EQ(from(orders).in(session).join(from(customers), order_key, customer_key, inner).as_ordered().to_vector(),
            from(orders).join(from(customers), order_key, customer_key, inner).as_ordered().to_vector());
  EXPECT_EQ(from(orders).in(session).left_join(from(customers), order_key, customer_key, outer).as_ordered().to_vector(),
            from(orders).left_join(from(customers), order_key, customer_key, outer).as_ordered().to_vector());
}

}  // namespace
}  // namespace query::tests
