// Finds the gaps in a series that should have a value for each minute, and fills in the missing values.
#include <optional>
#include <vector>

#include <query/query.hpp>

#include "answer.hpp"

struct Reading {
  std::int64_t minute;
  double celsius;
};
QUERY_RECORD(Reading, minute, celsius);

struct Gap {
  std::int64_t begin, end;  // the first missing minute, and the next one that has a value
};
QUERY_RECORD(Gap, begin, end);

struct Filled {
  std::int64_t minute;
  std::optional<double> celsius;
};
QUERY_RECORD(Filled, minute, celsius);

int main() {
  const std::vector<Reading> readings{{0, 20}, {1, 21}, {4, 24}, {5, 20}, {7, 22}};
  const auto minute = [](auto r) { return r.minute; };
  const auto celsius = [](auto r) { return r.celsius; };
  const auto rows = query::from(readings);

  const auto gaps = rows.window(2, [](auto run) { return query::make<Gap>(run[0].minute + 1, run[1].minute); })
      .where([](auto g) { return g.begin < g.end; });
  const auto filled = query::range(std::int64_t{0}, 8)
      .left_join(rows, [](auto m) { return m; }, minute, [](auto m, auto r) {
        if (!r) return query::make<Filled>(m, std::nullopt);
        return query::make<Filled>(m, r->celsius);
      }).as_ordered()
      .over().select([celsius](auto f, auto w) { return query::make<Filled>(f.minute, w.interpolate(celsius)); });

  return answer<Gap>(gaps, {{2, 4}, {6, 7}}) +
         answer<Filled>(filled, {{0, 20}, {1, 21}, {2, 22}, {3, 23}, {4, 24}, {5, 20}, {6, 21}, {7, 22}});
}
