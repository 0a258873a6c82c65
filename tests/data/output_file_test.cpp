// Files that take their place when they are complete: a process that is killed before leaves nothing, and the old file as it was.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "data/output_file.hpp"

namespace query::data {
namespace {

namespace fs = std::filesystem;

class output_files : public testing::Test {
 protected:
  output_files() { fs::create_directories(folder); }
  ~output_files() override { fs::remove_all(folder); }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& f : fs::directory_iterator(folder)) all.push_back(f.path().filename().string());
    return all;
  }
  std::string text() const {
    std::ifstream in(target);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  const std::string folder = testing::TempDir() + "query_output_" + std::to_string(::getpid()), target = folder + "/out.txt";
};

TEST_F(output_files, take_their_place_when_they_are_complete) {
  {
    output_file file(target, "write_csv");
    file.write("first");
    EXPECT_FALSE(fs::exists(target));
    file.finish();
  }
  EXPECT_EQ(text(), "first");
  {
    output_file file(target, "write_csv");
    file.write("second");
  }
  EXPECT_EQ(text(), "first");
  output_file file(target, "write_csv");
  file.write("third");
  file.finish(true);
  EXPECT_EQ(text(), "third");
  EXPECT_EQ(names(), std::vector<std::string>{"out.txt"});
}

TEST_F(output_files, of_a_killed_process_leave_nothing) {
  { std::ofstream(target) << "old"; }
  const pid_t child = ::fork();
  if (child == 0) {
    output_file file(target, "write_csv");
    file.write("half of it");
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(text(), "old");
  const std::vector<std::string> left = names();
  if (left.size() > 1 && left != std::vector<std::string>{"out.txt"})
    GTEST_SKIP() << "THIS FILE SYSTEM HAS NO FILES WITHOUT A NAME: a killed program leaves a temporary one";
  EXPECT_EQ(left, std::vector<std::string>{"out.txt"});
}

}  // namespace
}  // namespace query::data
