// Every form of the corpus has the outcome that stands beside it. lambda_forms.md is the table of all, and docs/lambda-forms.md
// shows some of its rows. QUERY_UPDATE_DOCS=1 writes the table, and the rows that the page shows, anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "corpus/forms.hpp"
#include "source_folder.hpp"

namespace {

using corpus::form;
using corpus::outcome;

const std::vector<form>& all_forms() {
  static const std::vector<form> all = [] {
    std::vector<form> v;
    for (auto batch : {corpus::branches, corpus::arithmetic, corpus::records_and_arrays, corpus::strings_and_nulls, corpus::nested, corpus::groups,
                       corpus::library, corpus::black_boxes, corpus::members, corpus::times,
                       corpus::string_functions})
      for (form& f : batch()) v.push_back(std::move(f));
    return v;
  }();
  return all;
}

struct rejected {
  std::string form, message;
};
// The forms that do not compile: tests/compile_fail/lambda_*.cpp say `// form: ...` and `// expect: ...`.
std::vector<rejected> rejected_forms() {
  std::vector<std::filesystem::path> files;
  for (const auto& e : std::filesystem::directory_iterator(std::filesystem::path(QUERY_TEST_SOURCE_DIR) / "compile_fail"))
    if (e.path().filename().string().starts_with("lambda_") && e.path().extension() == ".cpp") files.push_back(e.path());
  std::sort(files.begin(), files.end());
  std::vector<rejected> all;
  for (const auto& path : files) {
    std::ifstream in(path);
    rejected r;
    for (std::string line; std::getline(in, line);)
      for (auto [prefix, to] : {std::pair{"// form: ", &r.form}, {"// message: ", &r.message}})
        if (line.starts_with(prefix)) *to = line.substr(std::string_view(prefix).size());
    all.push_back(r);
  }
  return all;
}

std::string cell(std::string text, std::size_t most) {
  std::string flat;
  for (char c : text) {
    if (c == '\n') c = ' ';
    if (c == '|') flat += '\\';
    flat += c;
  }
  return flat.size() > most ? flat.substr(0, most - 3) + "..." : flat;
}

// A reason without its advice: "a traced value became a plain C++ value".
std::string short_reason(const std::string& reason) { return reason.substr(0, std::min({reason.find(" ("), reason.find(": "), reason.find("; ")})); }

std::string table() {
  std::size_t traced = 0, opaque = 0, differs = 0;
  for (const form& f : all_forms()) (f.expected == outcome::opaque ? opaque : f.expected == outcome::traced ? traced : differs) += 1;
  const auto rejects = rejected_forms();
  std::ostringstream out;
  out << "# What becomes of a lambda\n\n"
         "All forms of the corpus. `QUERY_UPDATE_DOCS=1 query_corpus_tests` writes this file; without the variable the test\n"
         "compares it with what happens. A *traced* form is an expression that the planner and the GPU can use; its native and\n"
         "its interpreted results are compared on random rows. An *opaque* form runs as it was compiled, and the plan says why.\n\n"
      << "| forms | traced | traced, but not what runs natively | opaque | do not compile |\n|---|---|---|---|---|\n| " << all_forms().size() + rejects.size() << " | " << traced << " | "
      << differs << " | " << opaque << " | " << rejects.size() << " |\n";
  out << "\n## reasons and what to write instead\n\n";
  std::vector<std::string> seen;
  for (const form& f : all_forms())
    if (f.expected == outcome::opaque)
      if (const std::string reason = short_reason(f.trace.reason); std::find(seen.begin(), seen.end(), reason) == seen.end()) {
        seen.push_back(reason);
        out << "- " << cell(f.trace.reason, 400) << "\n";
      }
  std::string batch;
  for (const form& f : all_forms()) {
    if (f.batch != batch) out << "\n## " << (batch = f.batch) << "\n\n| form | code | outcome | expression or reason |\n|---|---|---|---|\n";
    out << "| " << cell(f.name, 80) << " | `" << cell(f.source, 200) << "` | "
        << (f.expected == outcome::traced ? "traced" : f.expected == outcome::opaque ? "opaque" : "traced, differs from native: verify mode finds it")
        << " | " << (f.expected == outcome::opaque ? cell(short_reason(f.trace.reason), 160) : "`" + cell(query::ir::show(f.trace), 160) + "`") << " |\n";
  }
  out << "\n## do not compile\n\n| form | message |\n|---|---|\n";
  for (const rejected& r : rejects) out << "| `" << cell(r.form, 200) << "` | " << cell(r.message, 300) << " |\n";
  return out.str();
}

TEST(lambda_forms, have_the_outcome_that_stands_beside_them) {
  for (const form& f : all_forms()) {
    SCOPED_TRACE(f.batch + ": " + f.name + ": " + f.source);
    if (f.expected == outcome::opaque) {
      EXPECT_FALSE(f.trace) << query::ir::show(f.trace);
      EXPECT_TRUE(f.trace.reason.starts_with(f.reason)) << f.trace.reason;
      EXPECT_FALSE(f.trace.reason.empty());
    } else {
      EXPECT_TRUE(f.trace) << f.trace.reason;
    }
  }
}

TEST(lambda_forms, give_natively_what_the_interpreter_gives) {
  for (const form& f : all_forms()) {
    if (!f.trace) continue;
    SCOPED_TRACE(f.batch + ": " + f.name + ": " + f.source + "\n" + query::ir::show(f.trace));
    const std::string difference = compare(f);
    if (f.expected == outcome::differs) EXPECT_NE(difference, "");
    else EXPECT_EQ(difference, "");
  }
}

TEST(lambda_forms, are_many) { EXPECT_GE(all_forms().size(), 200u); }

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// What a row of the table is found by: its cells up to the form's code.
std::string key_of(const std::string& row) { return row.substr(0, row.find("` | ")); }
bool is_form(const std::string& line) { return line.starts_with("| ") && line.find("` | ") != line.npos; }

// The page with each row as the table has it. `unknown` gets the rows whose form is not in the table.
std::string with_rows_of(const std::string& table, const std::string& page, std::vector<std::string>& unknown) {
  std::map<std::string, std::string> rows;
  for (const std::string& line : lines_of(table))
    if (is_form(line)) rows[key_of(line)] = line;
  std::string result;
  for (std::string line : lines_of(page)) {
    if (is_form(line)) {
      if (const auto row = rows.find(key_of(line)); row != rows.end()) line = row->second;
      else unknown.push_back(line);
    }
    result += line + "\n";
  }
  return result;
}

TEST(lambda_forms, are_listed_in_a_table) {
  const auto path = std::filesystem::path(QUERY_TEST_SOURCE_DIR) / "corpus" / "lambda_forms.md";
  if (std::getenv("QUERY_UPDATE_DOCS")) std::ofstream(path) << table();
  EXPECT_TRUE(text_of(path) == table()) << path << " is out of date: run this test with QUERY_UPDATE_DOCS=1";
}

TEST(lambda_forms, of_the_docs_are_rows_of_the_table) {
  const auto path = std::filesystem::path(QUERY_TEST_SOURCE_DIR).parent_path() / "docs" / "lambda-forms.md";
  const std::string page = text_of(path);
  std::vector<std::string> unknown;
  const std::string expected = with_rows_of(table(), page, unknown);
  if (std::getenv("QUERY_UPDATE_DOCS")) std::ofstream(path) << expected;
  for (const std::string& row : unknown) ADD_FAILURE() << path << " shows a form that the corpus does not have: " << row;
  EXPECT_TRUE(text_of(path) == expected) << path << " is out of date: run this test with QUERY_UPDATE_DOCS=1";
  const std::vector<std::string> lines = lines_of(page);
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(), is_form), 40);
}

}  // namespace
