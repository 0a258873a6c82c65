// k-means over the flights that left New York City in 2013: eight kinds of flight, or as many as asked for.
//
//   ./run kmeans [clusters, 8 by default]
#include <chrono>
#include <iomanip>
#include <iostream>

#include "../example_data.hpp"
#include "arguments.hpp"
#include "kmeans_query.hpp"

namespace kmeans {

// A cluster in the units of the file.
struct Row {
  std::int32_t cluster;
  std::int64_t size;
  double dep_delay, arr_delay, air_time, distance, departure_hour, month;
};
QUERY_RECORD(Row, cluster, size, dep_delay, arr_delay, air_time, distance, departure_hour, month);

}  // namespace kmeans

int main(int argc, char** argv) {
  std::cout << std::fixed << std::setprecision(1);
  using namespace kmeans;
  const std::optional<std::size_t> k = clusters_asked(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  if (!k) {
    std::cerr << "kmeans takes the number of clusters, 1 to " << most_clusters << ", or " << usual_clusters
              << " without it: ./run kmeans 12\n";
    return 2;
  }
  using clock = std::chrono::steady_clock;
  const auto milliseconds = [](clock::time_point from) { return std::chrono::duration<double, std::milli>(clock::now() - from).count(); };

  auto start = clock::now();
  const std::vector<Raw> raw = raw_points(query::read_csv<Flight>(example_data("flights.csv"))).to_vector();
  const Scale scale = scale_of(query::from(raw));
  const std::vector<Point> points = standardised(query::from(raw), scale).to_vector();
  std::cout << points.size() << " points of " << features << " features read in " << milliseconds(start) << " ms\n";

  const query::Query<Center> loop = clusters(query::from(points), first_centers(points, *k));
  start = clock::now();
  const std::vector<Center> centers = loop.to_vector();
  const double took = milliseconds(start);
  std::cout << centers.front().round << " rounds in " << took << " ms, " << took / centers.front().round << " ms each\n\n";

  std::vector<Row> rows;
  double inertia = 0;
  for (const Cluster& c : sizes(query::from(points), centers)) {
    const auto feature = [&](std::size_t i) {
      return scale.mean[i] + scale.stddev[i] * static_cast<double>(centers[static_cast<std::size_t>(c.cluster)].x[i]);
    };
    rows.push_back({c.cluster, c.size, feature(0), feature(1), feature(2), feature(3), feature(4) / 60, feature(5)});
    inertia += c.inertia;
  }
  query::from(rows).print({.rows = rows.size()});
  std::cout << "sum of squared distances: " << inertia << "\n\nThe plan of the loop:\n" << loop.explain();
}
