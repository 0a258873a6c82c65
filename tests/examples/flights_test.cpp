// The queries of examples/flights against figures that DuckDB and pandas computed (fixtures/README.md).
#include "expect_rows.hpp"

#include "../../examples/example_data.hpp"
#include "../../examples/flights/flights_queries.hpp"

namespace examples {
namespace {

using namespace flights;

class FlightsExample : public testing::Test {
 protected:
  void SetUp() override { EXAMPLES_NEED_DATA(); }
  template <class T> static query::Query<T> file(const char* name) { return query::read_csv<T>(example_data(name)); }
  static const query::Query<Flight>& all() {
    static const std::vector<Flight> rows = file<Flight>("flights.csv").to_vector();
    static const query::Query<Flight> q = query::from(rows);
    return q;
  }
};

TEST_F(FlightsExample, carriers_by_delay) {
  expect_rows(carriers(all(), file<Airline>("airlines.csv")).to_vector(), fixture<CarrierRow>("flights_a_carriers"));
}

TEST_F(FlightsExample, busiest_routes_with_airports) {
  expect_rows(routes(all(), file<Airport>("airports.csv")).take(10).to_vector(), fixture<RouteRow>("flights_b_routes"));
}

TEST_F(FlightsExample, routes_without_airports) {
  const auto unmatched = routes(all(), file<Airport>("airports.csv")).where([](auto r) { return !r.dest_name.has_value(); });
  expect_rows(unmatched.to_vector(), fixture<RouteRow>("flights_b_routes_unmatched"));
}

TEST_F(FlightsExample, planes_by_miles) {
  expect_rows(planes(all(), file<Plane>("planes.csv")).take(5).to_vector(), fixture<PlaneRow>("flights_c_planes"));
}

TEST_F(FlightsExample, moving_average_of_daily_delays) {
  expect_rows(moving_average(all(), "JFK").to_vector(), fixture<WeekRow>("flights_d_moving_average"));
}

TEST_F(FlightsExample, delays_by_wind) {
  expect_rows(wind(all(), file<Weather>("weather.csv")).to_vector(), fixture<WindRow>("flights_e_wind"));
}

TEST_F(FlightsExample, quantiles_of_delays) {
  expect_rows(quantiles(all()).to_vector(), fixture<QuantileRow>("flights_f_quantiles"));
}

TEST_F(FlightsExample, busiest_carrier_of_each_month) {
  expect_rows(busiest(all()).to_vector(), fixture<BusiestRow>("flights_g_busiest_carrier"));
}

// The file and the vector give the same, though from the file only some columns are parsed.
TEST_F(FlightsExample, straight_from_the_file) {
  const auto flights = file<Flight>("flights.csv");
  expect_rows(busiest(flights).to_vector(), fixture<BusiestRow>("flights_g_busiest_carrier"));
  expect_rows(planes(flights, file<Plane>("planes.csv")).take(5).to_vector(), fixture<PlaneRow>("flights_c_planes"));
}

}  // namespace
}  // namespace examples
