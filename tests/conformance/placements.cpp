#include "conformance/placements.hpp"

#include <cstdlib>
#include <fstream>
#include <map>

#include <gtest/gtest.h>
#include "source_folder.hpp"

namespace conformance {

namespace {

const std::string file = QUERY_TEST_SOURCE_DIR "/conformance/placements.csv";
constexpr const char* head = "test,verb: why its work is left to the CPU";

std::map<std::string, std::set<std::string>> read() {
  std::map<std::string, std::set<std::string>> all;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t comma = line.find(',');
    if (line != head && comma != line.npos) all[line.substr(0, comma)].insert(line.substr(comma + 1));
  }
  return all;
}
void write(const std::map<std::string, std::set<std::string>>& all) {
  std::ofstream out(file);
  out << head << '\n';
  for (const auto& [test, lines] : all)
    for (const std::string& line : lines) out << test << ',' << line << '\n';
}

}  // namespace

void check_placements(const std::string& test, const std::set<std::string>& left) {
  static std::map<std::string, std::set<std::string>> known = read();
  if (test.starts_with("random")) return;  // chains that are drawn: other seeds leave other work here
  if (std::getenv("QUERY_UPDATE_PLACEMENTS")) {
    known[test] = left;
    write(known);
    return;
  }
  for (const std::string& line : left)
    EXPECT_TRUE(known[test].contains(line)) << "planned for the CPU, and not in placements.csv: " << line;
  for (const std::string& line : known[test])
    EXPECT_TRUE(left.contains(line)) << "in placements.csv, and no longer planned for the CPU: " << line;
}

}  // namespace conformance
