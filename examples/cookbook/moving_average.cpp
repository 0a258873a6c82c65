// Two moving averages for each sensor: over its last three readings, and over the last minute.
#include <tuple>
#include <vector>

#include <query/query.hpp>

#include "answer.hpp"

struct Reading {
  std::int32_t sensor;
  std::int64_t time;  // in seconds
  double celsius;
};
QUERY_RECORD(Reading, sensor, time, celsius);

struct Smooth {
  std::int32_t sensor;
  std::int64_t time;
  double celsius, of_three, of_minute;
};
QUERY_RECORD(Smooth, sensor, time, celsius, of_three, of_minute);

int main() {
  const std::vector<Reading> readings{{1, 0, 20}, {2, 10, 5}, {1, 30, 21}, {1, 60, 25}, {2, 100, 7}, {1, 110, 30}, {2, 130, 3}};
  const auto celsius = [](auto r) { return r.celsius; };

  const auto smooth = query::from(readings)
      .over([](auto r) { return r.sensor; }).order_by([](auto r) { return r.time; })
      .select([celsius](auto r, auto w) {
        return query::make<Smooth>(r.sensor, r.time, r.celsius, w.rolling(3).mean(celsius), *w.range(-60, 0).mean(celsius));
      })
      .order_by([](auto s) { return std::tuple(s.sensor, s.time); });

  return answer<Smooth>(smooth, {{1, 0, 20, 20, 20},
                                 {1, 30, 21, 20.5, 20.5},
                                 {1, 60, 25, 22, 22},
                                 {1, 110, 30, 76 / 3.0, 27.5},
                                 {2, 10, 5, 5, 5},
                                 {2, 100, 7, 6, 7},
                                 {2, 130, 3, 5, 5}});
}
