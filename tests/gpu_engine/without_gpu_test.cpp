// What a session says where there is no GPU to be used, from the driver's and NVRTC's libraries to the error of require_gpu(): a child
// process for each reason, with a libcuda.so.1 of the test's own (driver_stub). These run on machines with a GPU too.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;

struct Sale {
  std::int64_t id;
  double price;
};
QUERY_RECORD(Sale, id, price);

// Of the child process alone.
TEST(without_gpu_child, says_why) {
  if (!std::getenv("QUERY_TEST_CHILD")) GTEST_SKIP() << "run by the tests below";
  const query::Session session({.threads = 1, .gpu_min_rows = 0});
  const std::vector<Sale> sales(100, Sale{1, 2.0});
  const auto q = query::from(sales).in(session).as_accelerated().where([](auto s) { return s.price > 1; });
  const auto sorted = q.order_by([](auto s) { return s.id; });
  std::printf("status: %s\nplan: %s\nrows: %zu\n", session.gpu_status().c_str(), sorted.explain().c_str(), sorted.to_vector().size());
  try {
    (void)sorted.require_gpu().to_vector();
    std::printf("demand: nothing is wrong\n");
  } catch (const query::user_error& e) {
    std::printf("demand: %s\n", e.what());
  }
}

std::string stub_folder() {
#ifdef QUERY_DRIVER_STUB_FOLDER
  return QUERY_DRIVER_STUB_FOLDER;
#else
  return {};
#endif
}

// What the child prints with these words before its command line.
std::string child(const std::string& environment) {
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  const std::string command =
      "env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX QUERY_TEST_CHILD=1 QUERY_GPU=on " + environment + " '" + self +
      "' --gtest_filter='without_gpu_child.*' 2>&1";
  std::string text;
  FILE* out = ::popen(command.c_str(), "r");
  if (!out) return {};
  std::array<char, 4096> part{};
  while (const std::size_t n = std::fread(part.data(), 1, part.size(), out)) text.append(part.data(), n);
  ::pclose(out);
  return text;
}

// The folder comes first; what the tests themselves are linked with may lie in those behind it.
std::string libraries_of(const std::string& folder) { return "LD_LIBRARY_PATH='" + folder + "':\"$LD_LIBRARY_PATH\" "; }

void all_say(const std::string& text, const std::string& why) {
  const auto says = [&](const std::string& words) { return text.find(words) != std::string::npos; };
  EXPECT_TRUE(says("status: " + why)) << text;
  EXPECT_TRUE(says("cpu: " + why)) << text;
  EXPECT_TRUE(says("rows: 100\n")) << text;
  EXPECT_TRUE(says("demand: require_gpu: ")) << text;
  const std::size_t demand = text.find("demand: ");
  ASSERT_NE(demand, std::string::npos) << text;
  EXPECT_NE(text.find(why, demand), std::string::npos) << text;
}

// A library that is none, as the loader cannot be told to find nothing where a driver is installed.
TEST(without_gpu, no_driver_is_said) {
  const query::gpu_engine::temporary_folder folder;
  std::ofstream(fs::path(folder.path()) / "libcuda.so.1") << "no library";
  all_say(child(libraries_of(folder.path())), "no NVIDIA driver: ");
}

class without_gpu_of_a_stub : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(fs::path(stub_folder()) / "libcuda.so.1")) GTEST_SKIP() << "SKIPPED: the stub of the driver was not carried here";
  }
  const std::string path_ = libraries_of(stub_folder());
};

TEST_F(without_gpu_of_a_stub, no_gpu_is_said) { all_say(child(path_), "the NVIDIA driver shows no GPU"); }

TEST_F(without_gpu_of_a_stub, no_compiler_is_said) {
  all_say(child(path_ + "QUERY_STUB_GPUS=1 QUERY_NVRTC=/nowhere/libnvrtc.so"), "no run-time compiler (NVRTC): ");
}

}  // namespace
