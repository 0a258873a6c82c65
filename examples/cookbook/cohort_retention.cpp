// Customer retention: how many of the customers who first ordered in a given month came back one and two months later?
#include <array>
#include <cstdint>
#include <vector>

#include <query/query.hpp>

#include "answer.hpp"

struct Order {
  std::int32_t customer, month;
};
QUERY_RECORD(Order, customer, month);

struct Aged {
  std::int32_t customer, cohort, age;
};
QUERY_RECORD(Aged, customer, cohort, age);

struct Cohort {
  std::int32_t month;
  std::int64_t customers;
  double after_one, after_two;
};
QUERY_RECORD(Cohort, month, customers, after_one, after_two);

int main() {
  const std::vector<Order> orders{{1, 1}, {2, 1}, {1, 2}, {3, 2}, {1, 2}, {2, 3}, {1, 3}, {3, 3}, {4, 1}, {4, 1}, {5, 1}};

  const auto cohorts = query::from(orders)
      .over([](auto o) { return o.customer; }).select([](auto o, auto w) {
        const auto first = w.min([](auto p) { return p.month; });
        return query::make<Aged>(o.customer, first, o.month - first);
      })
      .pivot([](auto a) { return a.cohort; }, [](auto a) { return a.age; }, std::array{0, 1, 2},
             [](auto g) { return g.count_distinct([](auto a) { return a.customer; }); })
      .select([](auto p) {
        const auto share = [p](auto came) { return query::cast<double>(came.value_or(0)) / query::cast<double>(p.values[0].value_or(0)); };
        return query::make<Cohort>(p.key, p.values[0].value_or(0), share(p.values[1]), share(p.values[2]));
      })
      .order_by([](auto c) { return c.month; });

  return answer<Cohort>(cohorts, {{1, 4, 0.25, 0.5}, {2, 1, 1, 0}});
}
