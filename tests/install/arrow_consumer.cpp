#include <iostream>
#include <vector>

#include <query/arrow_file.hpp>
#include <query/parquet.hpp>
#include <query/query.hpp>

struct pair {
  int id = 0;
  double x = 0;
};
QUERY_RECORD(pair, id, x);

int main() {
  const std::vector<pair> pairs{{1, 1.5}, {2, 2.5}, {3, 3.5}};
  query::write_parquet(query::from(pairs), "pairs.parquet");
  query::write_arrow_file(query::read_parquet<pair>("pairs.parquet").where([](auto p) { return p.id > 1; }), "pairs.arrow");
  const double sum = query::read_arrow_file<pair>("pairs.arrow").sum([](auto p) { return p.x; });
  std::cout << "sum: " << sum << '\n';
  return sum == 6 ? 0 : 1;
}
