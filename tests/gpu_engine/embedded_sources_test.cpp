#include "gpu_engine/embedded_sources.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include "source_folder.hpp"

namespace query::gpu_engine {
std::span<const named_source> embedded_test_sources();  // of a folder that tests/CMakeLists.txt writes
std::span<const named_source> embedded_no_sources();

namespace {
namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The files that should be embedded, by their names.
std::map<std::string, std::string> files_below(const fs::path& root) {
  std::map<std::string, std::string> files;
  for (const char* folder : {"gpu_primitives", "gpu_engine/device"}) {
    if (!fs::is_directory(root / folder)) continue;
    for (const auto& entry : fs::directory_iterator(root / folder))
      if (entry.path().extension() == ".cuh")
        files[std::string(folder) + "/" + entry.path().filename().string()] = content_of(entry.path());
  }
  return files;
}

std::map<std::string, std::string> as_map(std::span<const named_source> sources) {
  std::map<std::string, std::string> files;
  for (const named_source& s : sources) files[std::string(s.name)] = s.text;
  return files;
}

TEST(embedded_sources, are_the_device_headers_of_the_source_tree) {
  const fs::path root = fs::path(QUERY_TEST_SOURCE_DIR).parent_path() / "src";
  if (!fs::is_directory(root)) GTEST_SKIP() << "SKIPPED: no source tree here: " << root;
  EXPECT_EQ(as_map(embedded_sources()), files_below(root));
}

TEST(embedded_sources, keep_every_byte_of_large_and_of_empty_files) {
  const auto files = as_map(embedded_test_sources());
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files.at("device/empty.cuh"), "");
  EXPECT_EQ(files.at("device/short.cuh"), "no line end at the end");
  const std::string& large = files.at("large.cuh");
  std::string expected;
  for (int i = 0; i < 5000; ++i) expected += R"line(// "quotes" \n \\ ; [[brackets]=] ${signs} @signs@ )" ü)line" "\n";
  EXPECT_GT(expected.size(), 3u * 64 * 1024);
  EXPECT_TRUE(large == expected) << large.size() << " bytes, " << expected.size() << " expected";
  for (const named_source& s : embedded_test_sources()) EXPECT_EQ(s.text.data()[s.text.size()], '\0');
  EXPECT_TRUE(std::is_sorted(embedded_test_sources().begin(), embedded_test_sources().end(),
                             [](const named_source& a, const named_source& b) { return a.name < b.name; }));
}

TEST(embedded_sources, may_be_none) { EXPECT_TRUE(embedded_no_sources().empty()); }

}  // namespace
}  // namespace query::gpu_engine
