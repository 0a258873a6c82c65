// The queries of examples/flights with as_accelerated(), on a GPU, against the figures that DuckDB and pandas computed. In a session that
// puts on the GPU whatever can run there; what has no form there runs on the CPU. Where there is no GPU these are skipped.
#include "expect_rows.hpp"

#include "../../examples/example_data.hpp"
#include "../../examples/flights/flights_queries.hpp"

namespace examples {
namespace {

using namespace flights;

class FlightsOnGpu : public testing::Test {
 protected:
  static const query::Session& session() {
    static const query::Session s({.gpu_min_rows = 0});
    return s;
  }
  void SetUp() override {
    EXAMPLES_NEED_DATA();
    if (!session().gpu_status().empty()) GTEST_SKIP() << "SKIPPED: no GPU: " << session().gpu_status();
  }
  template <class T> static query::Query<T> file(const char* name) {
    return query::read_csv<T>(example_data(name)).in(session()).as_accelerated();
  }
  static query::Query<Flight> all() {
    static const std::vector<Flight> rows = query::read_csv<Flight>(example_data("flights.csv")).to_vector();
    return query::from(rows).in(session()).as_accelerated();
  }
  // Planned there, and not left to the CPU while it ran.
  template <class Row, class Q> static void same(const Q& q, const char* name) {
    EXPECT_NE(q.explain().find("  gpu: "), std::string::npos) << q.explain();
    expect_rows(q.to_vector(), fixture<Row>(name));
    EXPECT_EQ(q.explain().find("went to the cpu"), std::string::npos) << q.explain();
  }
};

TEST_F(FlightsOnGpu, carriers_by_delay) { same<CarrierRow>(carriers(all(), file<Airline>("airlines.csv")), "flights_a_carriers"); }

TEST_F(FlightsOnGpu, busiest_routes_with_airports) {
  same<RouteRow>(routes(all(), file<Airport>("airports.csv")).take(10), "flights_b_routes");
}

TEST_F(FlightsOnGpu, routes_without_airports) {
  const auto unmatched = routes(all(), file<Airport>("airports.csv")).where([](auto r) { return !r.dest_name.has_value(); });
  same<RouteRow>(unmatched, "flights_b_routes_unmatched");
}

TEST_F(FlightsOnGpu, planes_by_miles) { same<PlaneRow>(planes(all(), file<Plane>("planes.csv")).take(5), "flights_c_planes"); }

TEST_F(FlightsOnGpu, moving_average_of_daily_delays) { same<WeekRow>(moving_average(all(), "JFK"), "flights_d_moving_average"); }

TEST_F(FlightsOnGpu, delays_by_wind) { same<WindRow>(wind(all(), file<Weather>("weather.csv")), "flights_e_wind"); }

TEST_F(FlightsOnGpu, quantiles_of_delays) { same<QuantileRow>(quantiles(all()), "flights_f_quantiles"); }

TEST_F(FlightsOnGpu, busiest_carrier_of_each_month) { same<BusiestRow>(busiest(all()), "flights_g_busiest_carrier"); }

}  // namespace
}  // namespace examples
