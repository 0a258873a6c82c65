// Sources of which each partition has a part: several files, binary ones, Arrow data, repeated values; and rows that are streamed back.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include <query/arrow.hpp>
#include <query/query.hpp>

#include "cluster/cluster_under_test.hpp"
#include "runtime/session_state.hpp"
#include "temp_folder.hpp"

namespace sources_test {

struct line {
  std::int64_t id = 0;
  std::string text;
  std::optional<double> weight;
  bool operator==(const line&) const = default;
};
QUERY_RECORD(line, id, text, weight);
struct wide {  // 100 bytes
  std::array<std::uint8_t, 10> key{};
  std::array<std::uint8_t, 90> rest{};
  bool operator==(const wide&) const = default;
};
QUERY_RECORD(wide, key, rest);
static_assert(sizeof(wide) == 100);

namespace {

class sources : public ::testing::Test {
 protected:
  query::tests::temp_folder folder{"sources"};
  const query::Session one{{.threads = 2, .gpu = query::gpu_use::off}};

  std::vector<query::Session> sessions() const {
    std::vector<query::Session> all;
    all.emplace_back(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
    all.back().state()->partitions = 4;
    all.push_back(query::Session::cluster(query::tests::three_processes(), {.threads = 1, .gpu = query::gpu_use::off}));
    for (const auto& s : all) s.state()->least_divided_file = 0;
    return all;
  }
  std::string at(const std::string& name) const { return folder.name() + "/" + name; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(at(name)).parent_path());
    std::ofstream(at(name), std::ios::binary) << bytes;
    return at(name);
  }
  template <class Q> static std::string error_of(const Q& run) {
    try {
      run();
    } catch (const query::user_error& e) {
      return e.what();
    }
    return "no error";
  }
  static std::string csv(int first, int n, const char* header = "id,text,weight\n") {
    std::string bytes = header;
    for (int i = first; i < first + n; ++i)
      bytes += std::to_string(i) + (i % 3 ? ",\"a\n\"\"b\"\",\"," : ",plain,") + (i % 5 ? "" : "0.5") + "\n";
    return bytes;
  }
};
std::vector<std::int64_t> ids(const std::vector<line>& rows) {
  std::vector<std::int64_t> all;
  for (const line& x : rows) all.push_back(x.id);
  return all;
}
std::vector<std::int64_t> numbers(int n) {
  std::vector<std::int64_t> all;
  for (int i = 0; i < n; ++i) all.push_back(i);
  return all;
}

TEST_F(sources, of_several_files_are_the_rows_of_one_after_the_other) {
  const std::string a = write("days/a.csv", csv(0, 700)), b = write("days/b.csv", csv(700, 1)), c = write("days/c.csv", csv(701, 1299));
  write("days/_SUCCESS", "");
  write("days/.c.csv.crc", "x");
  write("days/bb.csv", "");
  write("days/bc.csv", "id,text,weight");
  const auto expected = query::read_csv<line>({a, b, c}).in(one).to_vector();
  EXPECT_EQ(ids(expected), numbers(2000));
  const std::vector<query::file_paths> all = {{a, b, c}, at("days/"), at("days"), at("days/*.csv"), {at("days/[ab].csv"), c}};
  for (const auto& files : all) {
    EXPECT_EQ(query::read_csv<line>(files).in(one).to_vector(), expected);
    EXPECT_EQ(query::read_csv<line>(files).in(one).take(1500).count(), 1500);
    for (const auto& s : sessions()) {
      const auto q = query::read_csv<line>(files).in(s);
      EXPECT_EQ(q.to_vector(), expected);
      EXPECT_EQ(q.where([](auto x) { return x.weight.has_value(); }).count(), 400);
      EXPECT_NE(q.where([](auto x) { return x.id > 3; }).explain().find("each partition reads its part of the file"), std::string::npos);
    }
  }
  const std::string odd = write("odd[1].csv", csv(0, 3));
  EXPECT_EQ(query::read_csv<line>(odd).in(one).count(), 3);
}

TEST_F(sources, of_several_files_have_errors_with_their_file_and_row) {
  write("x/a.csv", csv(0, 500));
  const std::string b = write("x/b.csv", csv(0, 300) + "oops,a,1\n" + csv(0, 100, ""));
  const auto run = [&](const query::Session& s) { return error_of([&] { (void)query::read_csv<line>(at("x/")).in(s).to_vector(); }); };
  EXPECT_NE(run(one).find(b + ":502:1: expected i64 for column 'id', found 'oops'"), std::string::npos) << run(one);
  for (const auto& s : sessions()) EXPECT_EQ(run(s), run(one));
  for (const int at_row : {10, 490}) {  // a quote that is never closed, in the first file
    write("x/a.csv", csv(0, at_row) + "1,\"open,1\n" + csv(at_row, 500 - at_row, ""));
    EXPECT_NE(run(one).find("a.csv:"), std::string::npos) << run(one);
    for (const auto& s : sessions()) EXPECT_EQ(run(s), run(one));
  }
  write("x/a.csv", csv(0, 500));
  write("x/b.csv", "id,text\n1,a\n");
  EXPECT_NE(run(one).find("b.csv: no column 'weight'"), std::string::npos) << run(one);
  for (const auto& s : sessions()) EXPECT_EQ(run(s), run(one));
  write("x/y/c.csv", csv(0, 1));
  EXPECT_NE(run(one).find("there is a folder in the folder"), std::string::npos) << run(one);
  for (const auto& s : sessions()) EXPECT_EQ(run(s), run(one));
}

TEST_F(sources, of_binary_rows_are_read_in_parts) {
  std::vector<wide> rows;
  for (int i = 0; i < 4001; ++i) {
    wide w;
    for (std::size_t k = 0; k < 10; ++k) w.key[k] = static_cast<std::uint8_t>(i * 31 >> k);
    w.rest[89] = static_cast<std::uint8_t>(i);
    rows.push_back(w);
  }
  const auto write_rows = [&](const std::string& name, std::size_t first, std::size_t n) {
    return write(name, std::string(reinterpret_cast<const char*>(rows.data() + first), n * sizeof(wide)));
  };
  const std::string all = write_rows("all.bin", 0, rows.size());
  write_rows("parts/0", 0, 1);
  write_rows("parts/1", 1, 0);
  write_rows("parts/2", 1, 3000);
  write_rows("parts/3", 3001, 1000);
  const std::string none = write("none.bin", "");
  for (const auto& files : {query::file_paths(all), query::file_paths(at("parts/")), query::file_paths({none, all, none})}) {
    EXPECT_EQ(query::read_binary<wide>(files).in(one).to_vector(), rows);
    for (const auto& s : sessions()) {
      const auto q = query::read_binary<wide>(files).in(s);
      EXPECT_EQ(q.to_vector(), rows);
      EXPECT_EQ(q.where([](auto x) { return x.rest[89] == 7; }).count(), 16);
      const auto by_key = [](const wide& x) { return x.key; };
      EXPECT_EQ(q.order_by(by_key).to_vector(), query::from(rows).in(one).order_by(by_key).to_vector());
    }
  }
  EXPECT_EQ(query::read_binary<wide>(none).in(one).count(), 0);
  const std::string short_one = write("parts/4", std::string(250, 'x'));
  const auto run = [&](const query::Session& s) {
    return error_of([&] { (void)query::read_binary<wide>(at("parts")).in(s).to_vector(); });
  };
  EXPECT_NE(run(one).find(short_one + ": 250 bytes are not a whole number of rows: one of wide has 100, and the file ends within the one "
                                      "that begins at byte 200"), std::string::npos) << run(one);
  for (const auto& s : sessions()) EXPECT_EQ(run(s), run(one));
}

// Rows are where the file is mapped: they take none of the session's memory.
TEST_F(sources, of_binary_rows_may_be_larger_than_memory) {
  const std::string path = at("large.bin");
  query::range(std::int64_t{0}, 4'000'000).in(one).write_binary(path);
  const query::Session small({.threads = 2, .memory_limit = std::size_t{16} << 20, .gpu = query::gpu_use::off});
  const auto q = query::read_binary<std::int64_t>(path).in(small);
  EXPECT_EQ(q.select([](auto x) { return x % 1000; }).sum(), std::int64_t{4000} * 999 * 500);
  EXPECT_EQ(q.skip(3'999'999).first(), 3'999'999);
  EXPECT_EQ(q.group_by([](auto x) { return x % 1000; }).select([](auto g) { return g.count(); }).max(), 4000);
}

TEST_F(sources, of_arrow_data_are_divided) {
  std::vector<line> rows;
  for (int i = 0; i < 5000; ++i)
    rows.push_back({i, "a name that is longer than a view " + std::to_string(i), i % 3 ? std::optional(i / 4.0) : std::nullopt});
  ArrowArrayStream stream{};
  query::to_arrow(query::from(rows).in(one), &stream);
  const auto all = query::from_arrow<line>(&stream);
  for (const auto& s : sessions()) {
    const auto q = all.in(s);
    EXPECT_EQ(q.where([](auto x) { return x.id % 2 == 0; }).count(), 2500);
    EXPECT_EQ(q.to_vector(), rows);
    EXPECT_EQ(q.select([](auto x) { return x.weight.value_or(0.0); }).sum(), query::from(rows).in(one).select([](auto x) {
      return x.weight.value_or(0.0);
    }).sum());
    EXPECT_EQ(q.group_by([](auto x) { return x.id % 10; }).select([](auto g) { return g.count(); }).sum(), 5000);
    EXPECT_EQ(q.where([](auto x) { return x.id > 10; }).select([](auto x) { return x.text; }).to_vector().size(), 4989u);
    EXPECT_EQ(q.where([](auto x) { return x.id > 10; }).explain().find("first partition"), std::string::npos);
  }
}

TEST_F(sources, that_are_made_in_parts_say_so) {
  for (const auto& s : sessions()) {
    const auto twice = [](auto x) { return x * 2; };
    const auto plan = [&](const auto& q) { return q.in(s).select(twice).explain("sum"); };
    const std::string whole = "all rows are made in the first partition: ";
    EXPECT_EQ(plan(query::repeat(2.5, 5000)).find(whole), std::string::npos);
    EXPECT_EQ(plan(query::range(0, 5000)).find(whole), std::string::npos);
    EXPECT_EQ(query::repeat(2.5, 5000).in(s).select(twice).sum(), 25000);
    EXPECT_EQ(query::repeat(line{1, "x", {}}, 3).in(s).count(), 3);
    const auto made = query::generate([i = 0]() mutable { return i < 5000 ? std::optional(i++) : std::nullopt; });
    EXPECT_NE(plan(made).find("generate (sources_test.cpp:"), std::string::npos) << plan(made);
    EXPECT_NE(plan(made).find(whole + "each row follows from the one before"), std::string::npos) << plan(made);
    EXPECT_NE(plan(query::range(0.5, 5000)).find(whole + "fractions depend on where they begin"), std::string::npos);
    const auto text = query::repeat(std::string("x"), 5000).in(s).select([](auto x) { return x.size(); });
    EXPECT_NE(text.explain("sum").find(whole + "its value may hold addresses"), std::string::npos) << text.explain("sum");
    EXPECT_EQ(text.sum(), 5000u);
  }
}

// In order, each once, and with little memory in the first process.
TEST_F(sources, are_streamed_back_in_order_with_little_memory) {
  for (const std::size_t limit : {std::size_t{0}, std::size_t{24} << 20}) {
    const query::Session s =
        query::Session::cluster(query::tests::three_processes(), {.threads = 1, .memory_limit = limit, .gpu = query::gpu_use::off});
    constexpr std::int64_t rows = 3'000'000;
    std::int64_t next = 0, wrong = 0;
    query::range(std::int64_t{0}, rows)
        .in(s)
        .select([](auto x) { return std::pair(x, x * 2); })
        .for_each([&](const std::pair<std::int64_t, std::int64_t>& x) { wrong += x.first != next++ || x.second != 2 * x.first; });
    EXPECT_EQ(next, rows);
    EXPECT_EQ(wrong, 0);
  }
}

}  // namespace
}  // namespace sources_test
