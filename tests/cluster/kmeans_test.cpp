// k-means of examples/kmeans, no word changed, in other processes.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "../../examples/kmeans/kmeans_query.hpp"
#include "cluster/cluster_under_test.hpp"
#include "golden_text.hpp"

namespace {

std::vector<kmeans::Point> drawn() {
  std::mt19937 random(1);
  std::vector<kmeans::Point> points(20000);
  for (kmeans::Point& p : points) {
    const auto cluster = random() % 8;
    for (std::size_t k = 0; k < kmeans::features; ++k)
      p.x[k] = static_cast<float>(random() % 1000) / 1000 + static_cast<float>(cluster * (k + 3) % 7) * 5;
  }
  return points;
}

TEST(kmeans, of_the_examples_in_three_processes) {
  const std::vector<kmeans::Point> points = drawn();
  const auto first = kmeans::first_centers(points, 8);
  const query::Session one({.gpu = query::gpu_use::off});
  const auto many = query::Session::cluster(query::tests::three_processes(), {.threads = 1, .gpu = query::gpu_use::off});
  const auto there = kmeans::clusters(query::from(points).in(many), first, 1e-3);
  const std::string plan = there.explain();
  EXPECT_NE(plan.find("cluster graph: each of 3 partitions, in processes of " + query::tests::three_processes()), plan.npos) << plan;
  EXPECT_EQ(plan.find("interpreted"), plan.npos) << plan;
  const auto got = there.to_vector(), right = kmeans::clusters(query::from(points).in(one), first, 1e-3).to_vector();
  ASSERT_EQ(got.size(), right.size());
  for (std::size_t i = 0; i < right.size(); ++i) {
    EXPECT_EQ(got[i].id, right[i].id);
    for (std::size_t k = 0; k < kmeans::features; ++k) EXPECT_NEAR(got[i].x[k], right[i].x[k], 1e-3);
  }
}

// docs/cluster.md shows it, as drawn by: dot -Tsvg docs/cluster-kmeans.dot -o docs/cluster-kmeans.svg
TEST(kmeans, has_the_graph_that_the_docs_show) {
  const std::vector<kmeans::Point> points = drawn();
  const auto four = query::Session::cluster("local:4", {.threads = 1, .gpu = query::gpu_use::off});
  const auto loop = kmeans::clusters(query::from(points).in(four), kmeans::first_centers(points, 8));
  expect_golden_text("../docs/cluster-kmeans.dot", loop.explain_dot());
}

}  // namespace
