// Files of which each partition reads a part: the same rows in the same order, and the same errors, as one reader finds.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "runtime/session_state.hpp"

namespace files_test {

struct line {
  std::int64_t id = 0;
  std::string text;
  double weight = 0;
  bool operator==(const line&) const = default;
};
QUERY_RECORD(line, id, text, weight);

namespace {

class files : public ::testing::Test {
 protected:
  std::string path = (std::filesystem::temp_directory_path() / ("query_files_" + std::to_string(::getpid()) + ".csv")).string();
  ~files() override { std::filesystem::remove(path); }
  void write(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }

  std::vector<query::Session> sessions() const {
    std::vector<query::Session> all;
    all.emplace_back(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
    all.back().state()->partitions = 4;
    all.push_back(query::Session::cluster("local:3", {.threads = 1, .gpu = query::gpu_use::off}));
    for (const auto& s : all) s.state()->least_divided_file = 0;
    return all;
  }
  const query::Session one{{.threads = 2, .gpu = query::gpu_use::off}};

  template <class Q> static std::string error_of(const Q& run) {
    try {
      run();
    } catch (const query::user_error& e) {
      return e.what();
    }
    return "no error";
  }
  void expect_same(const std::string& what) const {
    const auto read = [&](const query::Session& s) { return query::read_csv<line>(path).in(s); };
    const std::vector<line> expected = read(one).to_vector();
    for (const auto& s : sessions()) {
      EXPECT_EQ(read(s).to_vector(), expected) << what;
      const auto even = [](auto x) { return x.id % 2 == 0; };
      EXPECT_EQ(read(s).where(even).count(), read(one).where(even).count());
      EXPECT_NE(read(s).where(even).explain().find("each partition reads its part of the file"), std::string::npos);
    }
  }
};

TEST_F(files, whose_records_have_quoted_line_ends) {
  std::mt19937 random(5);
  for (int round = 0; round < 12; ++round) {
    std::string bytes = round % 2 ? "weight,\"te\"\"xt\",id\n" : "id,text,weight\n";
    if (round % 2) bytes = "weight,text,id,\"unused \"\"\n\"\" column\"\n";
    const char* const end = round % 3 ? "\n" : "\r\n";
    const int rows = static_cast<int>(random() % 60);
    for (int i = 0; i < rows; ++i) {
      std::string text = "\"";
      for (int k = static_cast<int>(random() % (round == 7 ? 400 : 12)); k; --k) text += "a\n,\r"[random() % 4];
      text += random() % 2 ? "\"\"\n\"\"\"" : "\"";
      bytes += round % 2 ? "1.5," + text + "," + std::to_string(i) + ",\"\n\"" : std::to_string(i) + "," + text + ",0.25";
      if (i + 1 < rows || round % 4) bytes += end;
      if (random() % 5 == 0) bytes += end;
    }
    write(bytes);
    expect_same("round " + std::to_string(round));
  }
}

TEST_F(files, that_are_empty_or_short) {
  for (const char* bytes : {"id,text,weight", "id,text,weight\n", "id,text,weight\n1,a,2", "id,text,weight\n\n\n1,a,2\n\n"}) {
    write(bytes);
    expect_same(bytes);
  }
}

TEST_F(files, are_read_by_groups_and_joins) {
  std::string bytes = "id,text,weight\n";
  for (int i = 0; i < 5000; ++i) bytes += std::to_string(i) + ",\"name " + std::to_string(i % 37) + "\"," + std::to_string(i % 8) + "\n";
  write(bytes);
  const auto answer = [&](const query::Session& s) {
    const auto all = query::read_csv<line>(path).in(s);
    return all.group_by([](auto x) { return x.text; })
        .select([](auto g) { return query::make<line>(g.count(), g.key(), g.sum([](auto x) { return x.weight; })); })
        .join(all, [](auto g) { return g.text; }, [](auto x) { return x.text; }, [](auto g, auto x) { return g.weight + x.weight; })
        .sum();
  };
  for (const auto& s : sessions()) EXPECT_EQ(answer(s), answer(one));
}

TEST_F(files, errors_name_line_and_row) {
  std::string bytes = "id,text,weight\n";
  for (int i = 0; i < 3000; ++i) bytes += std::to_string(i) + (i == 2500 || i == 2900 ? ",a,heavy\n" : ",\"a\nb\",1\n");
  write(bytes);
  const auto run = [&](const query::Session& s) { return error_of([&] { (void)query::read_csv<line>(path).in(s).to_vector(); }); };
  EXPECT_NE(run(one).find(".csv:5002:"), std::string::npos) << run(one);
  for (const auto& s : sessions()) EXPECT_EQ(run(s), run(one));
  write(bytes.substr(0, 900) + "\"" + bytes.substr(900));
  for (const auto& s : sessions()) EXPECT_EQ(run(s), run(one));
}

TEST_F(files, bad_lines_are_left_out_by_each_reader) {
  std::mt19937 random(7);
  std::string bytes = "id,text,weight\n";
  for (int i = 0; i < 4000; ++i) {
    if (random() % 20 == 0) bytes += random() % 2 ? "x,a,1\n" : "1,\"a\nb\"\n";
    bytes += std::to_string(i) + (random() % 9 ? ",a,1\n" : ",\"a\n\"\"b\",1\n");
  }
  // A quote that is never closed is a line that is left out, too.
  for (const char* end : {"", "7,\"open,1\n8,b,1\n"}) {
    write(bytes + end);
    const auto read = [&](const query::Session& s) { return query::read_csv<line>(path, {.on_error = query::bad_lines::skip}).in(s); };
    const std::vector<line> expected = read(one).to_vector();
    EXPECT_EQ(expected.size(), 4000u);
    for (const auto& s : sessions()) {
      EXPECT_EQ(read(s).to_vector(), expected);
      EXPECT_EQ(read(s).count(), 4000);
    }
  }
}

TEST_F(files, bad_lines_are_collected_by_one_reader) {
  std::string bytes = "id,text,weight\n";
  for (int i = 0; i < 4000; ++i) bytes += (i % 100 ? std::to_string(i) : "x") + ",a,1\n";
  write(bytes);
  const auto run = [&](const query::Session& s, const query::rejected_lines& to) {
    const auto q = query::read_csv<line>(path, {.on_error = query::bad_lines::collect, .rejected = to}).in(s);
    EXPECT_EQ(q.explain().find("each partition reads its part of the file"), std::string::npos);
    return q.group_by([](auto x) { return x.id % 7; }).select([](auto g) { return g.count(); }).sum();
  };
  const query::rejected_lines expected(10);
  EXPECT_EQ(run(one, expected), 3960);
  EXPECT_EQ(expected.count(), 40u);
  EXPECT_EQ(expected.lines().size(), 10u);
  for (const auto& s : sessions()) {
    const query::rejected_lines got(10);
    EXPECT_EQ(run(s, got), 3960);
    EXPECT_EQ(got.count(), 40u);
    EXPECT_EQ(got.lines(), expected.lines());
  }
}

TEST_F(files, of_json_lines_are_read_in_parts) {
  std::mt19937 random(9);
  std::vector<line> rows;
  for (int i = 0; i < 3000; ++i) rows.push_back({i, std::string(random() % 40, 'a') + "\n\"", 0.5});
  query::from(rows).in(one).write_json_lines(path);
  for (const auto& s : sessions()) {
    const auto q = query::read_json_lines<line>(path).in(s);
    EXPECT_EQ(q.to_vector(), rows);
    EXPECT_NE(q.explain().find("each partition reads its part of the file"), std::string::npos);
    EXPECT_EQ(query::read_json_lines<line>(path, {.unknown = query::unknown_fields::refuse}).in(s).count(), 3000);
  }
  std::ofstream(path, std::ios::app) << "{\"id\":1}\n";
  const auto run = [&](const query::Session& s) { return error_of([&] { (void)query::read_json_lines<line>(path).in(s).to_vector(); }); };
  EXPECT_NE(run(one).find(".csv:3001:"), std::string::npos) << run(one);
  for (const auto& s : sessions()) EXPECT_EQ(run(s), run(one));
}

TEST_F(files, tell_their_names_as_the_user_wrote_them) {
  std::string bytes = "id,weight\n";
  for (int i = 0; i < 2000; ++i) bytes += std::to_string(i) + ",1\n";
  write(bytes);
  const std::string relative = std::filesystem::relative(path).string();
  for (const auto& s : sessions())
    for (const std::string& given : {path, relative}) {
      const auto q = query::read_csv<line>(given, {.file_name_in = "text"}).in(s);
      EXPECT_EQ(q.group_by([](auto x) { return x.text; }).select([](auto g) { return g.key(); }).to_vector(),
                std::vector<std::string>{given});
      EXPECT_EQ(q.count(), 2000);
    }
}

TEST_F(files, small_ones_have_one_reader) {
  write("id,text,weight\n1,a,2\n");
  for (const auto& s : sessions()) {
    s.state()->least_divided_file = 1000;
    const auto q = query::read_csv<line>(path).in(s);
    EXPECT_EQ(q.explain().find("its part of the file"), std::string::npos);
    EXPECT_EQ(q.to_vector(), query::read_csv<line>(path).in(one).to_vector());
  }
}

}  // namespace
}  // namespace files_test
