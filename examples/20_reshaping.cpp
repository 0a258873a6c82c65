// Subtotals by rollup, columns that become rows by unpivot, rows that become columns by pivot.
#include <array>
#include <iostream>
#include <string>
#include <tuple>
#include <vector>

#include <query/query.hpp>

struct Sale {
  std::string city;
  std::int32_t month;
  std::int64_t amount;
};
QUERY_RECORD(Sale, city, month, amount);

struct Quarter {
  std::string city;
  std::int64_t january, february, march;
};
QUERY_RECORD(Quarter, city, january, february, march);

int main() {
  const std::vector<Sale> sales{{"Oslo", 1, 10}, {"Bergen", 1, 5}, {"Oslo", 2, 20}, {"Oslo", 2, 2}, {"Bergen", 3, 7}};
  const auto rows = query::from(sales);
  const auto city = [](auto s) { return s.city; };
  const auto month = [](auto s) { return s.month; };
  const auto amount = [](auto s) { return s.amount; };

  // By city and month, then by city, then of all rows: the parts of a key that are rolled up are empty.
  const auto totals = rows.group_by(query::rollup(city, month)).select([amount](auto g) {
    return std::tuple(g.key(), g.sum(amount), g.count());
  });
  for (const auto& [key, sum, count] : totals.as_ordered()) {
    const auto& [c, m] = key;
    std::cout << c.value_or("all cities") << ", " << (m ? "month " + std::to_string(*m) : "all months") << ": " << sum << " in " << count
              << " sales\n";
  }

  // A row for each city, with a value for each month that is listed.
  const auto quarters = rows.pivot(city, month, std::array{1, 2, 3}, [amount](auto g) { return g.sum(amount); })
                            .select([](const auto& p) {
                              return query::make<Quarter>(p.key, p.values[0].value_or(0), p.values[1].value_or(0), p.values[2].value_or(0));
                            })
                            .as_ordered();
  quarters.print();

  // And back: a row for each city and month.
  quarters
      .unpivot(city, query::field(1, [](auto q) { return q.january; }), query::field(2, [](auto q) { return q.february; }),
               query::field(3, [](auto q) { return q.march; }))
      .where([](auto r) { return r.value > 0; })
      .print();

  // The months that the rows have, whatever they are.
  const auto table = rows.to_pivot(city, month, query::aggregates::sum(amount));
  for (const auto& line : table) {
    std::cout << line.key << ":";
    for (std::size_t i = 0; i < line.values.size(); ++i)
      std::cout << " " << table.columns()[i] << "=" << line.values[i].value_or(0);
    std::cout << "\n";
  }
}
