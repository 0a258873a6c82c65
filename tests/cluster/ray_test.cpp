// Sessions of a Ray cluster. Most of their tests are those of all clusters, which over_ray runs.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <query/query.hpp>

#include "cluster/cluster_under_test.hpp"

namespace ray_test {
namespace {

std::string error_of(const std::string& cluster) {
  try {
    query::Session::cluster(cluster);
  } catch (const query::cluster_error& e) {
    return e.what();
  }
  return "";
}

struct python_named {
  explicit python_named(const char* path) : before(std::getenv("QUERY_RAY_PYTHON") ? std::getenv("QUERY_RAY_PYTHON") : "") {
    ::setenv("QUERY_RAY_PYTHON", path, 1);
  }
  ~python_named() { before.empty() ? ::unsetenv("QUERY_RAY_PYTHON") : ::setenv("QUERY_RAY_PYTHON", before.c_str(), 1); }
  const std::string before;
};

TEST(ray_names, a_python_that_is_not_there_is_named) {
  const python_named none("/nowhere/python");
  EXPECT_NE(error_of("ray:127.0.0.1:1").find("QUERY_RAY_PYTHON names no program: /nowhere/python"), std::string::npos);
}

TEST(ray_names, a_supervisor_that_ends_says_why) {
  const python_named other("/bin/false");
  EXPECT_NE(error_of("ray:127.0.0.1:1").find("its supervisor ended with status 1"), std::string::npos) << error_of("ray:127.0.0.1:1");
}

class ray : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!query::tests::on_ray()) GTEST_SKIP() << "over_ray runs it";
  }
};

TEST_F(ray, clusters_that_are_not_there_are_named) {
  EXPECT_NE(error_of("ray:127.0.0.1:1").find("no Ray cluster at 127.0.0.1:1: Connection refused"), std::string::npos);
}

int count_in(query::Session& s) {
  return static_cast<int>(query::from(std::vector<int>(1000, 2)).in(s).where([](auto x) { return x > 1; }).count());
}

// The token is in no command line or environment of any process.
TEST_F(ray, nobody_is_told_the_token) {
  auto s = query::Session::cluster(query::tests::three_processes(), {.threads = 1, .gpu = query::gpu_use::off});
  EXPECT_EQ(count_in(s), 1000);
  const auto all = query::tests::containers();
  ASSERT_EQ(all.size(), 2u);
  for (const pid_t p : all)
    for (const char* file : {"cmdline", "environ"}) {
      std::ifstream in("/proc/" + std::to_string(p) + "/" + file);
      std::string text((std::istreambuf_iterator<char>(in)), {});
      std::size_t digits = 0;
      for (const char c : text) {
        digits = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ? digits + 1 : 0;
        ASSERT_LT(digits, 64u) << text;
      }
    }
}

// A session that has its containers, and no processor is left for another.
TEST_F(ray, processors_are_asked_of_ray) {
  auto first = query::Session::cluster(query::tests::three_processes(), {.threads = 2, .gpu = query::gpu_use::off});
  EXPECT_EQ(count_in(first), 1000);
  auto second = query::Session::cluster(query::tests::three_processes(), {.threads = 2, .gpu = query::gpu_use::off});
  try {
    count_in(second);
    ADD_FAILURE() << "it had processors";
  } catch (const query::cluster_error& e) {
    EXPECT_NE(std::string(e.what()).find("Ray has no free processors"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace ray_test
