// The queries of the flights example: every flight that left New York City in 2013, grouped, joined, cut and averaged.
// tests/examples/flights_test.cpp compares their rows with figures that DuckDB and pandas computed.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <tuple>

#include <query/query.hpp>

namespace flights {

// ---------------------------------------------------------------- the files: the columns that the queries need
struct Flight {
  std::int32_t year, month, day, hour;
  std::optional<std::int32_t> dep_time, dep_delay, arr_delay, air_time;
  std::int32_t distance;
  std::string carrier, origin, dest;
  std::optional<std::string> tailnum;
};
QUERY_RECORD(Flight, year, month, day, hour, dep_time, dep_delay, arr_delay, air_time, distance, carrier, origin, dest, tailnum);

struct Airline {
  std::string carrier, name;
};
QUERY_RECORD(Airline, carrier, name);

struct Airport {
  std::string faa, name;
};
QUERY_RECORD(Airport, faa, name);

struct Plane {
  std::string tailnum, manufacturer, model;
  std::optional<std::int32_t> year;
};
QUERY_RECORD(Plane, tailnum, manufacturer, model, year);

struct Weather {
  std::string origin;
  std::int32_t year, month, day, hour;
  std::optional<double> wind_speed;
};
QUERY_RECORD(Weather, origin, year, month, day, hour, wind_speed);

// ---------------------------------------------------------------- (a) airlines by their mean delay at arrival
struct CarrierFigures {
  std::string carrier;
  std::int64_t flights;
  std::optional<double> mean_dep_delay, mean_arr_delay;
  std::int64_t cancelled;
};
QUERY_RECORD(CarrierFigures, carrier, flights, mean_dep_delay, mean_arr_delay, cancelled);

struct CarrierRow {
  std::string carrier, name;
  std::int64_t flights;
  std::optional<double> mean_dep_delay, mean_arr_delay;
  std::int64_t cancelled;
};
QUERY_RECORD(CarrierRow, carrier, name, flights, mean_dep_delay, mean_arr_delay, cancelled);

inline query::Query<CarrierRow> carriers(const query::Query<Flight>& flights, const query::Query<Airline>& airlines) {
  return flights.group_by([](auto f) { return f.carrier; })
      .select([](auto g) {
        return query::make<CarrierFigures>(g.key(), g.count(), g.mean([](auto f) { return f.dep_delay; }),
                                           g.mean([](auto f) { return f.arr_delay; }),
                                           g.count() - g.count([](auto f) { return f.dep_time; }));
      })
      .join(airlines, [](auto c) { return c.carrier; }, [](auto a) { return a.carrier; },
            [](auto c, auto a) {
              return query::make<CarrierRow>(c.carrier, a.name, c.flights, c.mean_dep_delay, c.mean_arr_delay, c.cancelled);
            })
      .order_by_descending([](auto c) { return c.mean_arr_delay; })
      .then_by([](auto c) { return c.name; });
}

// ---------------------------------------------------------------- (b) routes, with the name of the airport where there is one
struct RouteFigures {
  std::string origin, dest;
  std::int64_t flights;
  std::optional<double> mean_air_time;
};
QUERY_RECORD(RouteFigures, origin, dest, flights, mean_air_time);

struct RouteRow {
  std::string origin, dest;
  std::optional<std::string> dest_name;
  std::int64_t flights;
  std::optional<double> mean_air_time;
};
QUERY_RECORD(RouteRow, origin, dest, dest_name, flights, mean_air_time);

inline query::Query<RouteRow> routes(const query::Query<Flight>& flights, const query::Query<Airport>& airports) {
  return flights.group_by([](auto f) { return std::tuple(f.origin, f.dest); })
      .select([](auto g) {
        const auto [origin, dest] = g.key();
        return query::make<RouteFigures>(origin, dest, g.count(), g.mean([](auto f) { return f.air_time; }));
      })
      .left_join(airports, [](auto r) { return r.dest; }, [](auto a) { return a.faa; },
                 [](auto r, auto a) {
                   if (!a) return query::make<RouteRow>(r.origin, r.dest, std::nullopt, r.flights, r.mean_air_time);
                   return query::make<RouteRow>(r.origin, r.dest, a->name, r.flights, r.mean_air_time);
                 })
      .order_by_descending([](auto r) { return r.flights; })
      .then_by([](auto r) { return r.origin; })
      .then_by([](auto r) { return r.dest; });
}

// ---------------------------------------------------------------- (c) the planes that flew farthest
struct PlaneFigures {
  std::string tailnum;
  std::int64_t flights, miles;
};
QUERY_RECORD(PlaneFigures, tailnum, flights, miles);

struct PlaneRow {
  std::string tailnum;
  std::int64_t flights, miles;
  std::string manufacturer, model;
  std::optional<std::int32_t> year;
};
QUERY_RECORD(PlaneRow, tailnum, flights, miles, manufacturer, model, year);

inline query::Query<PlaneRow> planes(const query::Query<Flight>& flights, const query::Query<Plane>& planes) {
  return flights.where([](auto f) { return f.tailnum.has_value() && f.dep_time.has_value(); })
      .group_by([](auto f) { return *f.tailnum; })
      .select([](auto g) { return query::make<PlaneFigures>(g.key(), g.count(), g.sum([](auto f) { return f.distance; })); })
      .join(planes, [](auto m) { return m.tailnum; }, [](auto p) { return p.tailnum; },
            [](auto m, auto p) { return query::make<PlaneRow>(m.tailnum, m.flights, m.miles, p.manufacturer, p.model, p.year); })
      .order_by_descending([](auto p) { return p.miles; })
      .then_by([](auto p) { return p.tailnum; });
}

// ---------------------------------------------------------------- (d) the mean delay at JFK over the last seven days
struct Date {
  std::int32_t year, month, day;
};
QUERY_RECORD(Date, year, month, day);

struct Daily {
  Date date;
  std::optional<double> mean_dep_delay;
};
QUERY_RECORD(Daily, date, mean_dep_delay);

struct WeekRow {
  std::string date;
  double moving_average;
};
QUERY_RECORD(WeekRow, date, moving_average);

inline WeekRow week_that_ends(std::span<const Daily> days) {
  double sum = 0;
  for (const Daily& d : days) sum += d.mean_dep_delay.value_or(0);
  const Date& last = days.back().date;
  char text[40];
  std::snprintf(text, sizeof text, "%04d-%02d-%02d", last.year, last.month, last.day);
  return {text, sum / static_cast<double>(days.size())};
}

inline query::Query<WeekRow> moving_average(const query::Query<Flight>& flights, const std::string& origin) {
  return flights.where([origin](auto f) { return f.origin == origin; })
      .group_by([](auto f) { return query::make<Date>(f.year, f.month, f.day); })
      .select([](auto g) { return query::make<Daily>(g.key(), g.mean([](auto f) { return f.dep_delay; })); })
      .order_by([](auto d) { return d.date; })
      .window(7, week_that_ends);
}

// ---------------------------------------------------------------- (e) the delay at departure by the wind
struct WindyFlight {
  std::int32_t band;
  std::optional<std::int32_t> dep_delay;
};
QUERY_RECORD(WindyFlight, band, dep_delay);

struct WindRow {
  std::int32_t band;
  std::int64_t flights, delays;
  std::optional<double> mean_dep_delay;
};
QUERY_RECORD(WindRow, band, flights, delays, mean_dep_delay);

inline query::Query<WindRow> wind(const query::Query<Flight>& flights, const query::Query<Weather>& weather) {
  const auto hour = [](auto r) { return std::tuple(r.origin, r.year, r.month, r.day, r.hour); };
  return flights
      .join(weather.where([](auto w) { return w.wind_speed.has_value(); }), hour, hour,
            [](auto f, auto w) {
              return query::make<WindyFlight>(query::cast<std::int32_t>(query::floor(*w.wind_speed / 5) * 5), f.dep_delay);
            })
      .group_by([](auto f) { return f.band; })
      .select([](auto g) {
        return query::make<WindRow>(g.key(), g.count(), g.count([](auto f) { return f.dep_delay; }),
                                    g.mean([](auto f) { return f.dep_delay; }));
      })
      .order_by([](auto w) { return w.band; });
}

// ---------------------------------------------------------------- (f) the median delay, and the one that a tenth exceeds
struct QuantileRow {
  std::string origin;
  std::int64_t delays;
  std::optional<double> median_dep_delay, p90_dep_delay;
};
QUERY_RECORD(QuantileRow, origin, delays, median_dep_delay, p90_dep_delay);

inline query::Query<QuantileRow> quantiles(const query::Query<Flight>& flights) {
  const auto delay = [](auto f) { return f.dep_delay; };
  return flights.group_by([](auto f) { return f.origin; })
      .select([delay](auto g) { return query::make<QuantileRow>(g.key(), g.count(delay), g.median(delay), g.quantile(delay, 0.9)); })
      .order_by([](auto r) { return r.origin; });
}

// ---------------------------------------------------------------- (g) the busiest airline of each month
struct BusiestRow {
  std::int32_t month;
  std::string carrier;
  std::int64_t flights;
};
QUERY_RECORD(BusiestRow, month, carrier, flights);

inline query::Query<BusiestRow> busiest(const query::Query<Flight>& flights) {
  return flights.group_by([](auto f) { return std::tuple(f.month, f.carrier); })
      .select([](auto g) {
        const auto [month, carrier] = g.key();
        return query::make<BusiestRow>(month, carrier, g.count());
      })
      .order_by([](auto c) { return c.carrier; })  // of several with as many flights, arg_max takes the first
      .group_by([](auto c) { return c.month; })
      .select([](auto g) { return g.arg_max([](auto c) { return c.flights; }); })
      .order_by([](auto c) { return c.month; });
}

}  // namespace flights
