// Queries are values: a function returns one, a class keeps some, callers refine them. Query<T> hides how it was made.
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <query/query.hpp>

struct Sale {
  std::string region;
  std::int32_t year;
  double amount;
};
QUERY_RECORD(Sale, region, year, amount);

struct Total {
  std::string region;
  double amount;
};
QUERY_RECORD(Total, region, amount);

namespace {

query::Query<Total> totals(const query::Query<Sale>& sales) {
  return sales.group_by([](auto s) { return s.region; }).select([](auto g) {
    return query::make<Total>(g.key(), g.sum([](auto s) { return s.amount; }));
  });
}

class SalesReport {
 public:
  explicit SalesReport(query::Query<Sale> sales) : sales_(std::move(sales)), totals_(totals(sales_)) {}
  query::Query<Sale> of_year(std::int32_t year) const {
    return sales_.where([year](auto s) { return s.year == year; });
  }
  query::Query<Total> best(std::uint64_t n) const {
    return totals_.top(n, [](auto t) { return t.amount; });
  }

 private:
  query::Query<Sale> sales_;
  query::Query<Total> totals_;
};

}  // namespace

int main() {
  std::vector<Sale> sales{{"north", 2023, 10}, {"south", 2023, 20}, {"north", 2024, 25}, {"east", 2024, 5}};
  const SalesReport report(query::from(sales));

  report.best(2).print();
  totals(report.of_year(2024)).order_by([](auto t) { return t.region; }).print();

  sales.push_back({"east", 2024, 100});  // the report is of the rows as they are when it runs
  std::cout << "best region now: " << report.best(1).first().region << "\n";
}
