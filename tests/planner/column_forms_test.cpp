// Which joins run over columns, as explain() says it.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <query/query.hpp>

namespace {

struct Order { std::int32_t id, customer; std::string item; };
QUERY_RECORD(Order, id, customer, item);
struct Customer { std::int32_t id; std::string name; std::optional<std::string> city; };
QUERY_RECORD(Customer, id, name, city);
struct Plain { std::int32_t id; double worth; };
QUERY_RECORD(Plain, id, worth);
struct Sent { std::optional<std::string> item, city; std::string name; };
QUERY_RECORD(Sent, item, city, name);

const std::vector<Order> orders = {{1, 2, "book"}, {2, 9, "pen"}};
const std::vector<Customer> customers = {{2, "Ann", "Oslo"}, {3, "Bob", std::nullopt}};
const std::vector<Plain> plain = {{2, 1.5}};
const auto customer = [](auto o) { return o.customer; };
const auto id = [](auto c) { return c.id; };
const auto sent = [](auto o, auto c) {
  if (!c) return query::make<Sent>(o.item, std::optional<std::string>(), "unknown");
  return query::make<Sent>(o.item, c->city, c->name);
};

// The lines of a plan that name the verb, after its head.
template <class Q> std::string lines_of(const Q& q, const std::string& verb) {
  const std::string plan = q.explain();
  std::string found;
  for (std::size_t at = plan.find("machine graph"); at < plan.size();) {
    const std::size_t end = plan.find('\n', at);
    const std::string line = plan.substr(at, end - at);
    if (line.find(verb) != std::string::npos) found += line + "\n";
    at = end == std::string::npos ? plan.size() : end + 1;
  }
  return found;
}
template <class Q> bool over_columns(const Q& q, const std::string& verb) {
  return lines_of(q, verb).find("over columns") != std::string::npos;
}

TEST(column_forms, left_joins_of_rows_with_strings_run_over_columns) {
  const auto left = query::from(orders);
  const auto right = query::from(customers);
  const auto joined = left.left_join(right, customer, id, sent);
  EXPECT_TRUE(over_columns(joined, "left_join: probes")) << joined.explain();
  EXPECT_TRUE(over_columns(left.left_join(right, customer, id), "left_join: probes"));
  const auto l = left.to_vectors();
  const auto r = right.to_vectors();
  const auto columnar = query::from(query::columns(l)).left_join(query::from(query::columns(r)), customer, id, sent);
  EXPECT_TRUE(over_columns(columnar, "left_join: probes")) << columnar.explain();
  EXPECT_NE(columnar.explain().find("in place: its reader takes the source's columns"), std::string::npos);
}

TEST(column_forms, right_and_full_joins_take_columns) {
  const auto left = query::from(orders);
  const auto right = query::from(customers);
  const auto both = left.full_join(right, customer, id, [](auto o, auto c) {
    if (!o) return query::make<Sent>(std::optional<std::string>(), c->city, c->name);
    if (!c) return query::make<Sent>(o->item, std::optional<std::string>(), "unknown");
    return query::make<Sent>(o->item, c->city, c->name);
  });
  EXPECT_TRUE(over_columns(both, "full_join")) << both.explain();
  EXPECT_TRUE(over_columns(left.full_join(right, customer, id), "full_join"));
  const auto kept = left.right_join(right, customer, id, [](auto o, auto c) {
    return o ? query::make<Sent>(o->item, c.city, c.name) : query::make<Sent>(std::optional<std::string>(), c.city, c.name);
  });
  EXPECT_TRUE(over_columns(kept, "right_join")) << kept.explain();
  EXPECT_FALSE(over_columns(query::from(plain).full_join(plain, id, id), "full_join"));
}

TEST(column_forms, joins_of_plain_rows_or_opaque_functions_do_not) {
  EXPECT_FALSE(over_columns(query::from(plain).left_join(plain, id, id), "left_join: probes"));
  const auto opaque = [](const Order& o, const std::optional<Customer>& c) { return Sent{o.item, c ? c->city : std::nullopt, "?"}; };
  EXPECT_FALSE(over_columns(query::from(orders).left_join(customers, customer, id, opaque), "left_join: probes"));
}

TEST(column_forms, groups_of_rows_with_strings_give_columns) {
  const auto rows = query::from(orders);
  const auto columns = rows.to_vectors();
  const auto q = query::from(query::columns(columns));
  const auto item = [](auto o) { return o.item; };
  const auto by_item = [&](auto from) {
    return from.group_by(item).select([](auto g) {
      return query::make<Order>(std::int32_t{1}, query::cast<std::int32_t>(g.count()), g.key());
    });
  };
  const auto gives = [](const auto& groups) { return lines_of(groups, "group_by").find("over columns to columns") != std::string::npos; };
  EXPECT_TRUE(gives(by_item(q))) << by_item(q).explain();
  EXPECT_TRUE(gives(by_item(rows)));
  EXPECT_TRUE(gives(q.group_by([](auto o) { return std::tuple(o.item, o.customer); }).select([](auto g) {
    return std::tuple(std::get<1>(g.key()), std::get<0>(g.key()), g.sum(id));
  })));
  EXPECT_TRUE(over_columns(by_item(q).as_ordered(), "group_by"));
  EXPECT_FALSE(gives(by_item(q).as_ordered()));  // sorted as records
  EXPECT_FALSE(gives(q.group_by(customer).select([](auto g) { return g.sum(id); })));  // plain numbers
}

}  // namespace
