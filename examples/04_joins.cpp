// Joins match equal keys. The side that may be missing reaches the result function as a std::optional.
#include <iostream>
#include <string>
#include <vector>

#include <query/query.hpp>

struct Order {
  std::int32_t id, customer;
  double amount;
};
QUERY_RECORD(Order, id, customer, amount);

struct Customer {
  std::int32_t id;
  std::string name;
};
QUERY_RECORD(Customer, id, name);

struct Line {
  std::int32_t order;
  std::string customer;
  double amount;
};
QUERY_RECORD(Line, order, customer, amount);

int main() {
  const std::vector<Order> orders{{1, 10, 99.5}, {2, 11, 15}, {3, 10, 20}, {4, 99, 7}};
  const std::vector<Customer> customers{{10, "Ada"}, {11, "Grace"}, {12, "Edsger"}};
  const auto from_orders = query::from(orders);
  const auto from_customers = query::from(customers);
  const auto customer_of = [](auto o) { return o.customer; };
  const auto id = [](auto c) { return c.id; };

  from_orders.join(from_customers, customer_of, id, [](auto o, auto c) { return query::make<Line>(o.id, c.name, o.amount); })
      .as_ordered()
      .print();

  from_orders
      .left_join(from_customers, customer_of, id,
                 [](auto o, auto c) {
                   if (!c) return query::make<Line>(o.id, "(unknown)", o.amount);
                   return query::make<Line>(o.id, c->name, o.amount);
                 })
      .as_ordered()
      .print();

  std::cout << "customers without orders: " << from_customers.anti_join(from_orders, id, customer_of).count() << "\n";

  // All orders of each customer at once.
  from_customers
      .group_join(from_orders, id, customer_of,
                  [](const Customer& c, const std::vector<Order>& theirs) {
                    return Line{static_cast<std::int32_t>(theirs.size()), c.name, query::from(theirs).sum([](auto o) { return o.amount; })};
                  })
      .print();
}
