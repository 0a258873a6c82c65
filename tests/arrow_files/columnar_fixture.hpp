// A folder for files, and what reading them in this process has cost.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include <query/arrow_file.hpp>
#include <query/parquet.hpp>
#include <query/query.hpp>

#include "data/columnar_file.hpp"
#include "temp_folder.hpp"

namespace arrow_files_test {

struct cost {
  std::uint64_t groups = 0, skipped = 0, columns = 0;
  bool operator==(const cost&) const = default;
  friend std::ostream& operator<<(std::ostream& to, const cost& c) {
    return to << c.groups << " groups read, " << c.skipped << " skipped, " << c.columns << " columns";
  }
};

class columnar_test : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_.name() + "/" + name; }

  // Of f(), which runs queries.
  template <class F> static cost cost_of(F f) {
    const auto now = [] {
      const query::data::columnar_counts& c = query::data::counts_of_columnar();
      return cost{c.groups_read, c.groups_skipped, c.columns_read};
    };
    const cost before = now();
    f();
    const cost after = now();
    return {after.groups - before.groups, after.skipped - before.skipped, after.columns - before.columns};
  }
  // The text of what f() throws, without the folder of the test.
  template <class F> std::string error_of(F f) const {
    try {
      f();
    } catch (const query::user_error& e) {
      std::string text = e.what();
      for (std::size_t i; (i = text.find(folder_.name() + "/")) != std::string::npos;) text.erase(i, folder_.name().size() + 1);
      if (const std::size_t place = text.rfind(" ("); place != std::string::npos && text.ends_with(")")) text.erase(place);
      return text;
    }
    return "no user_error";
  }
  static std::string bytes_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void put(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

  // Runs a function of make_files.py in the folder; false where there is no Python with pyarrow.
  bool python(const std::string& function) const {
    const std::string program = QUERY_ARROW_TESTS_PYTHON;
    if (program.empty()) return false;
    const std::string command = "'" + program + "' '" QUERY_ARROW_TESTS_SCRIPTS "/make_files.py' " + function + " '" + folder_.name() + "'";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return true;
  }

 private:
  query::tests::temp_folder folder_{"arrow_files"};
};

#define QUERY_MADE_BY_PYARROW(function) \
  if (!python(function)) GTEST_SKIP() << "NO PYTHON WITH PYARROW: scripts/fetch_arrow_python makes one"

}  // namespace arrow_files_test
