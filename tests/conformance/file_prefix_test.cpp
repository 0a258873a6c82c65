// Files are read no further than a reader goes that may stop early. What proves it: a wrong line, which nobody meets who does not
// ask for rows behind it.
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "conformance/engines.hpp"
#include "conformance/expect_message.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

// 30,000 lines in a few blocks, then `last`, then good ones.
constexpr std::int32_t good = 30000;

class numbered_file {
 public:
  explicit numbered_file(std::string_view last) {
    std::ofstream out(path_, std::ios::binary);
    out << "amount,price,key,id\r\n";
    for (std::int32_t i = 0; i < good; ++i) {
      const char* quote = i % 5 == 0 ? "\"" : "";
      out << i % 100 << ",0.5," << i % 7 << ',' << quote << i << quote << "\r\n";
    }
    out << last;
    for (std::int32_t i = 0; i < good; ++i) out << "1,2,3,4\r\n";
  }
  ~numbered_file() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / ("query_file_prefix_" + std::to_string(::getpid()) + ".csv")).string();
};

template <class F> std::string message_of(F f) {
  try {
    f();
  } catch (const query::user_error& e) {
    return e.what();
  }
  return "no error";
}

CONFORMS(file_prefix, readers_that_stop_early_do_not_meet_what_is_wrong_behind_their_rows, "read_csv", "take",
         "take_while", "first", "first_or_default", "any", "element_at", "begin", "table", "skip", "concat", "zip", "contains", "distinct",
         "chunk", "single_or_default", "verify") {
  if (e.accelerate) return;  // there, rows are read as a whole
  for (const char* last : {"x,y,z,w\r\n", "1,2\r\n", "1,2,3,\"4\r\n"}) {
    SCOPED_TRACE(last);
    const numbered_file file(last);
    const auto q = on(e, query::read_csv<tick>(file.path()));
    const auto odd = q.where([](auto t) { return t.id % 2 == 1; }).select([](auto t) { return t.id; });
    EXPECT_EQ(q.take(10).to_vector().back().id, 9);
    EXPECT_EQ(q.take(good).count(), good);
    EXPECT_EQ(odd.take(good / 2).to_vector().back(), good - 1);
    EXPECT_EQ(q.take_while([](auto t) { return t.id < 20000; }).count(), 20000);
    EXPECT_EQ(q.take(10).table(), query::from(q.take(10).to_vector()).table());
    EXPECT_EQ(q.verify().take(10).to_vector().back().id, 9);
    EXPECT_EQ(q.first().id, 0);
    EXPECT_EQ(q.first_or_default().id, 0);
    EXPECT_TRUE(q.any());
    EXPECT_TRUE(q.any([](auto t) { return t.id == 12345; }));
    EXPECT_TRUE(odd.contains(12345));
    EXPECT_EQ(q.element_at(good - 1).id, good - 1);
    EXPECT_EQ(odd.skip(7).first(), 15);
    EXPECT_EQ(q.skip(20000).take(3).to_vector()[2].id, 20002);
    EXPECT_EQ(odd.concat(query::from({5})).take(3).to_vector(), std::vector<std::int32_t>({1, 3, 5}));
    EXPECT_EQ(odd.zip(query::from({1, 2, 3})).count(), 3);
    EXPECT_EQ(odd.chunk(2).take(1).to_vector()[0], std::vector<std::int32_t>({1, 3}));
    EXPECT_EQ(odd.distinct().first(), 1);
    EXPECT_EQ(odd.take(1).single_or_default(), 1);
    std::int32_t n = 0;
    for (const tick& t : q) {
      EXPECT_EQ(t.id, n);
      if (++n == good) break;
    }
    EXPECT_EQ(n, good);
  }
}

CONFORMS(file_prefix, who_goes_further_meets_the_error_of_a_whole_read, "read_csv", "take", "begin", "element_at") {
  const numbered_file file("x,y,z,w\r\n");
  const auto q = on(e, query::read_csv<tick>(file.path()));
  const std::string wrong = message_of([&] { q.to_vector(); });
  EXPECT_NE(wrong.find(":30002:1: expected i64 for column 'amount', found 'x'"), std::string::npos) << wrong;
  EXPECT_EQ(message_of([&] { q.take(good + 1).to_vector(); }), wrong);
  EXPECT_EQ(message_of([&] { q.element_at(good); }), wrong);
  EXPECT_EQ(message_of([&] { q.where([](auto t) { return t.id < 0; }).first_or_default(); }), wrong);
  std::int32_t n = 0;
  EXPECT_EQ(message_of([&] { for (const tick& t : q) n += t.id == n; }), wrong);
  // The GPU takes the file as a whole, if the model leaves the loop to it.
  EXPECT_TRUE(n == good || (e.accelerate && n == 0)) << n;
}

CONFORMS(file_prefix, rows_are_those_of_a_whole_read, "read_csv", "begin", "take", "sequence_equal") {
  const numbered_file file("1,2,3,4\r\n");
  const auto q = on(e, query::read_csv<tick>(file.path()));
  const std::vector<tick> all = q.to_vector();
  ASSERT_EQ(std::ssize(all), 2 * good + 1);
  std::vector<tick> looped;
  for (const tick& t : q) looped.push_back(t);
  EXPECT_ROWS(looped, all);
  EXPECT_ROWS(q.take(1'000'000).to_vector(), all);
  EXPECT_TRUE(q.sequence_equal(all));
}

// What reads a file to its end has it as one table, parsed by all threads.
CONFORMS(file_prefix, plans_tell_which_files_are_read_in_part, "read_csv", "take", "count") {
  if (e.accelerate) return;
  const auto q = query::read_csv<tick>("never opened.csv");
  const auto other = query::read_csv<tick>("never opened either.csv");
  const auto in_part = [](const std::string& plan) {
    const std::size_t from = plan.find("v1 read_csv"), end = plan.find("\n  v2", from);
    return plan.substr(from, end - from).find("streamed") != std::string::npos;
  };
  EXPECT_TRUE(in_part(q.explain("first")));
  EXPECT_TRUE(in_part(q.explain("begin")));
  EXPECT_TRUE(in_part(q.take(3).explain("count")));
  EXPECT_FALSE(in_part(q.explain("to_vector")));
  EXPECT_FALSE(in_part(q.explain("count")));
  EXPECT_FALSE(in_part(q.explain("print")));
  // Two verbs read its rows; and they are the right side of a join.
  EXPECT_FALSE(in_part(q.concat(q).take(3).explain("count")));
  EXPECT_FALSE(in_part(query::from({1}).cross_join(other, [](auto a, auto b) { return a - b.id; }).take(3).explain("to_vector")));
}

}  // namespace
}  // namespace conformance
