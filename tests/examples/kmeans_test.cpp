// The clusters of examples/kmeans against those that numpy and DuckDB found (fixtures/README.md).
#include "expect_rows.hpp"

#include "../../examples/example_data.hpp"
#include "../../examples/kmeans/arguments.hpp"
#include "../../examples/kmeans/kmeans_query.hpp"

namespace kmeans {

struct FeatureFixture {
  std::string feature;
  double mean, stddev;
};
QUERY_RECORD(FeatureFixture, feature, mean, stddev);

struct SummaryFixture {
  std::int64_t points, features, k, iterations;
  double inertia;
};
QUERY_RECORD(SummaryFixture, points, features, k, iterations, inertia);

struct ClusterFixture {
  std::int32_t cluster;
  std::int64_t size;
  double dep_delay, arr_delay, air_time, distance, sched_dep_minute, month;
};
QUERY_RECORD(ClusterFixture, cluster, size, dep_delay, arr_delay, air_time, distance, sched_dep_minute, month);

}  // namespace kmeans

namespace examples {
namespace {

using namespace kmeans;

struct Result {
  Scale scale;
  std::vector<Point> points;
  std::vector<Center> centers;
  std::vector<Cluster> clusters;
};

TEST(KmeansArguments, the_number_of_clusters_or_nothing) {
  const auto asked = [](std::vector<const char*> arguments) { return clusters_asked(arguments); };
  EXPECT_EQ(asked({}), 8u);
  EXPECT_EQ(asked({"12"}), 12u);
  for (const char* wrong : {"", "0", "-1", "twelve", "12x", "1001", "99999999999999999999"})
    EXPECT_EQ(asked({wrong}), std::nullopt) << wrong;
  EXPECT_EQ(asked({"3", "4"}), std::nullopt);
}

class KmeansExample : public testing::Test {
 protected:
  void SetUp() override { EXAMPLES_NEED_DATA(); }
  static const Result& result() {
    static const Result r = [] {
      Result r;
      const std::vector<Raw> raw = raw_points(query::read_csv<Flight>(example_data("flights.csv"))).to_vector();
      r.scale = scale_of(query::from(raw));
      r.points = standardised(query::from(raw), r.scale).to_vector();
      r.centers = kmeans::clusters(query::from(r.points), first_centers(r.points, 8)).to_vector();
      r.clusters = sizes(query::from(r.points), r.centers).to_vector();
      return r;
    }();
    return r;
  }
};

TEST_F(KmeansExample, features_are_scaled_by_mean_and_deviation) {
  const std::vector<FeatureFixture> expected = fixture<FeatureFixture>("kmeans_features");
  ASSERT_EQ(expected.size(), features);
  for (std::size_t i = 0; i < features; ++i) {
    EXPECT_NEAR(result().scale.mean[i], expected[i].mean, 1e-9 * std::abs(expected[i].mean)) << expected[i].feature;
    EXPECT_NEAR(result().scale.stddev[i], expected[i].stddev, 1e-9 * expected[i].stddev) << expected[i].feature;
  }
}

TEST_F(KmeansExample, takes_as_many_rounds_to_the_same_inertia) {
  const SummaryFixture expected = fixture<SummaryFixture>("kmeans_summary").at(0);
  EXPECT_EQ(static_cast<std::int64_t>(result().points.size()), expected.points);
  ASSERT_EQ(static_cast<std::int64_t>(result().centers.size()), expected.k);
  double inertia = 0;
  for (const Cluster& c : result().clusters) inertia += c.inertia;
  EXPECT_NEAR(inertia, expected.inertia, 1e-6 * expected.inertia);
  for (const Center& c : result().centers) EXPECT_EQ(c.round, expected.iterations);
}

TEST_F(KmeansExample, finds_the_same_clusters) {
  const std::vector<ClusterFixture> expected = fixture<ClusterFixture>("kmeans_clusters");
  ASSERT_EQ(result().clusters.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const ClusterFixture& e = expected[i];
    EXPECT_EQ(result().clusters[i].cluster, e.cluster);
    EXPECT_NEAR(static_cast<double>(result().clusters[i].size), static_cast<double>(e.size), 5);
    const Center& c = result().centers.at(static_cast<std::size_t>(e.cluster));
    EXPECT_EQ(c.id, e.cluster);
    const double of[] = {e.dep_delay, e.arr_delay, e.air_time, e.distance, e.sched_dep_minute, e.month};
    for (std::size_t f = 0; f < features; ++f)
      EXPECT_NEAR(static_cast<double>(c.x[f]), of[f], 1e-6) << "cluster " << e.cluster << ", feature " << f;
  }
}

}  // namespace
}  // namespace examples
