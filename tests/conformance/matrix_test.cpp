// matrix.csv says which verbs are compared with a reference, on which engines. These tests keep it true: it lists what the
// CONFORMS tests name, and every public verb is named by one.
//
// QUERY_UPDATE_MATRIX=1 query_conformance_tests --gtest_filter='matrix*' writes the file anew.
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "conformance/engines.hpp"
#include "source_folder.hpp"

namespace conformance {
namespace {

const std::string tests = QUERY_TEST_SOURCE_DIR;
const std::string file = tests + "/conformance/matrix.csv";

std::string matrix() {
  std::vector<std::string> columns;
  for (const engine_config& e : engines())
    if (std::find(columns.begin(), columns.end(), e.column) == columns.end()) columns.push_back(e.column);
  std::sort(columns.rbegin(), columns.rend());  // interpreter, cpu
  std::string text = "verb,reference";
  for (const auto& c : columns) text += "," + c;
  text += '\n';
  for (const auto& [verb, by] : covered()) {
    text += verb + ",yes";
    for (const auto& c : columns) {
      std::string answer = "yes";
      for (const engine_config& e : engines())
        if (const auto it = e.leaves_out.find(verb); e.column == c && it != e.leaves_out.end()) answer = "no: " + it->second;
      text += "," + answer;
    }
    text += '\n';
  }
  return text;
}
std::string read(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(matrix, is_up_to_date) {
  if (std::getenv("QUERY_UPDATE_MATRIX")) std::ofstream(file) << matrix();
  EXPECT_EQ(read(file), matrix()) << "run query_conformance_tests --gtest_filter='matrix*' with QUERY_UPDATE_MATRIX=1";
}

// The names of public member functions and of functions that make queries, found in the headers' text.
std::set<std::string> public_verbs() {
  std::set<std::string> verbs;
  const std::regex member(
      R"(^  (?:template <[^()]*?> )?(?:requires[^)]*\)\)? )?(?:static )?[A-Za-z_:<>, ]*?\b(\w+)\([^;]*\) const[^;]*\{.*)");
  for (const char* header :
       {"chain", "verbs/composed", "verbs/grouping", "verbs/joins", "verbs/loops", "verbs/ordering", "verbs/over", "verbs/reshaping",
        "verbs/sequence", "verbs/sets", "verbs/terminals"}) {
    std::istringstream text(read(tests + "/../include/query/" + header + ".hpp"));
    bool open = false;
    std::smatch m;
    for (std::string line; std::getline(text, line);) {
      if (line.starts_with("template <class Derived, class T> class") || line.starts_with("template <class T, class Chain = ")) open = true;
      if (line.starts_with(" private:") || line.starts_with("};")) open = false;
      if (open && std::regex_match(line, m, member)) verbs.insert(m[1]);
    }
  }
  const std::regex maker(R"(^(?:template <.*> )?(?:Query<.*>|auto) (\w+)\(.*detail::call_site at = .*)");
  std::istringstream text(read(tests + "/../include/query/sources.hpp"));
  std::smatch m;
  for (std::string line; std::getline(text, line);)
    if (std::regex_match(line, m, maker)) verbs.insert(m[1]);
  return verbs;
}

TEST(matrix, every_public_verb_is_in_it) {
  const std::set<std::string> verbs = public_verbs();
  EXPECT_GT(verbs.size(), 90u) << "the headers are no longer written as this test reads them";
  const std::set<std::string> no_verbs = {"to_pipe", "to_any_pipe", "run_settings"};
  std::string missing;
  for (const std::string& v : verbs)
    if (!covered().contains(v) && !no_verbs.contains(v)) missing += " " + v;
  EXPECT_EQ(missing, "") << "no conformance test names these verbs";
}

TEST(matrix, interpreter_sessions_interpret) {
  const std::vector<int> rows = {1, 2, 3};
  for (const engine_config& e : engines()) {
    if (!e.missing.empty()) continue;
    const std::string plan = source(e, rows).where([](auto x) { return x > 1; }).explain();
    EXPECT_EQ(plan.find("interpreted") != std::string::npos, std::string(e.column) == "interpreter") << e.name << "\n" << plan;
  }
}

// Says loudly when the GPU's column was not tested, and that what it lists as running there does.
TEST(gpu, runs_what_is_accelerated) {
  const engine_config& e = engines().back();
  ASSERT_STREQ(e.column, "gpu");
  if (!e.missing.empty()) GTEST_SKIP() << "SKIPPED: the GPU engine was not tested: " << e.missing;
  const std::vector<int> rows = {3, 1, 2, 1};
  const auto q = source(e, rows).where([](auto x) { return x < 3; });
  const auto there = [](const std::string& plan) { return plan.find("  gpu: ") != std::string::npos; };
  EXPECT_TRUE(there(q.explain())) << q.explain();
  EXPECT_TRUE(there(q.order().explain())) << q.order().explain();
  const auto grouped = q.group_by([](auto x) { return x; }).select([](auto g) { return g.count(); });
  EXPECT_TRUE(there(grouped.explain())) << grouped.explain();
}

}  // namespace
}  // namespace conformance
