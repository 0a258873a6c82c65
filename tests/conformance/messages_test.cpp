// What a user_error says: the verb, what is wrong and the file and line of the verb, as docs/errors.md promises.
#include <cstdio>
#include <filesystem>
#include <stop_token>
#include <thread>

#include <unistd.h>

#include "conformance/engines.hpp"
#include "conformance/expect_message.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

const std::vector<std::int64_t> few = {1, 2, 0, 3};
const auto itself = [](auto x) { return x; };

CONFORMS(messages, missing_rows, "first", "last", "single", "single_or_default", "element_at") {
  const auto q = source(e, few);
  const auto none = q.where([](auto x) { return x > 10; });
  EXPECT_MESSAGE("first: the query has no such row; use first_or_default, or test any() first", none.first());
  EXPECT_MESSAGE("first: the query has no such row", q.first([](auto x) { return x > 10; }));
  EXPECT_MESSAGE("last: the query has no such row", none.last());
  EXPECT_MESSAGE("last: the query has no such row", q.last([](auto x) { return x > 10; }));
  EXPECT_MESSAGE("single: the query has no such row", none.single());
  EXPECT_MESSAGE("single: the query has more than one row; use first", q.single());
  EXPECT_MESSAGE("single: the query has more than one row", q.single([](auto x) { return x > 0; }));
  EXPECT_MESSAGE("single_or_default: the query has more than one row", q.single_or_default(7));
  EXPECT_MESSAGE("element_at: the query has no such row; use element_at_or_default, or test count() first", q.element_at(4));
  EXPECT_MESSAGE("element_at: a position must not be negative: -1; use last() or slice(-1)", q.element_at(-1));
  EXPECT_MESSAGE("element_at_or_default: a position must not be negative: -2; use last() or slice(-2)", q.element_at_or_default(-2, 7));
}

CONFORMS(messages, numbers_of_rows, "take", "skip", "take_last", "skip_last", "sample", "top", "chunk", "window", "partitioned") {
  const auto q = source(e, few);
  EXPECT_MESSAGE("take: a number of rows must not be negative: -1", q.take(-1));
  EXPECT_MESSAGE("skip: a number of rows must not be negative: -1", q.skip(-1));
  EXPECT_MESSAGE("take_last: a number of rows must not be negative: -1", q.take_last(-1));
  EXPECT_MESSAGE("skip_last: a number of rows must not be negative: -1", q.skip_last(-1));
  EXPECT_MESSAGE("sample: a number of rows must not be negative: -1", q.sample(-1));
  EXPECT_MESSAGE("top: a number of rows must not be negative: -3", q.top(-3, itself));
  EXPECT_MESSAGE("chunk: the number must be positive: 0", q.chunk(0));
  EXPECT_MESSAGE("chunk: the number must be positive: -2", q.chunk(-2, [](std::span<const std::int64_t> r) { return r.size(); }));
  EXPECT_MESSAGE("window: the length and the step must be positive: 0", q.window(0));
  EXPECT_MESSAGE("window: the length and the step must be positive: 0",
                 q.window(2, [](std::span<const std::int64_t> r) { return r.size(); }, 0));
  EXPECT_MESSAGE("partitioned: the number must be positive: 0", q.partitioned(0));
  EXPECT_MESSAGE("range_partitioned_by: a number of rows must not be negative: -1", q.range_partitioned_by(itself, -1));
  EXPECT_MESSAGE("hash_partitioned_by: more than 1048576 partitions: 2000000", q.hash_partitioned_by(itself, 2000000).count());
  EXPECT_MESSAGE("timeout: the seconds must not be negative", q.timeout(-0.5));
}

CONFORMS(messages, loops_of_a_row, "select") {
  const auto above = [](auto y) { return y > -1; };
  EXPECT_MESSAGE("select: loop: a row needs more than 16777216 iterations",
                 source(e, few).select([above](auto x) { return query::loop(x, above, itself); }).to_vector());
}

CONFORMS(messages, sources, "range", "repeat", "columns", "read_csv", "read_json_lines", "read_binary") {
  EXPECT_MESSAGE("range: a number of rows must not be negative: -1", query::range(0, -1));
  EXPECT_MESSAGE("range: 3000000000 numbers from 0 pass 2147483647, the largest of their type; give the first another type: "
                 "range(std::int64_t{0}, n)", query::range(0, 3'000'000'000));
  EXPECT_MESSAGE("range: 57 numbers from 200 pass 255", query::range(std::uint8_t{200}, 57));
  EXPECT_MESSAGE("range: 130 numbers from -1 pass 127", query::range(std::int8_t{-1}, 130));
  EXPECT_MESSAGE("range: 2 numbers from 9223372036854775807 pass ", query::range(std::numeric_limits<std::int64_t>::max(), 2));
  EXPECT_EQ(on(e, query::range(std::uint8_t{200}, 56)).last(), 255);
  EXPECT_EQ(on(e, query::range(std::int8_t{-128}, 256)).last(), 127);
  EXPECT_EQ(on(e, query::range(std::numeric_limits<std::int64_t>::max(), 1)).count(), 1);
  EXPECT_EQ(on(e, query::range(5, 0)).count(), 0);
  EXPECT_MESSAGE("repeat: a number of rows must not be negative: -1", query::repeat(7, -1));
  const std::vector<std::int32_t> id(2), key(3);
  const std::vector<std::int64_t> amount(2);
  const std::vector<double> price(2);
  EXPECT_MESSAGE("from(columns): the columns have different lengths: 2 and 3",
                 on(e, query::from(query::columns<tick>(id, key, amount, price))).to_vector());
  EXPECT_MESSAGE("read_csv: cannot read the file: /nowhere/t.csv: ", on(e, query::read_csv<tick>("/nowhere/t.csv")).count());
  const std::string path = testing::TempDir() + "query_messages_test_" + std::to_string(::getpid()) + ".csv";
  std::FILE* f = std::fopen(path.c_str(), "w");
  std::fputs("id,key,amount,price\n1,2,x,4\n", f);
  std::fclose(f);
  EXPECT_MESSAGE("read_csv: " + path + ":2:5: expected i64 for column 'amount', found 'x'", on(e, query::read_csv<tick>(path)).to_vector());
  EXPECT_MESSAGE("read_json_lines: " + path + ":1:1: expected an object for tick, found id; "
                 "each line must be a JSON object; query::read_csv reads a CSV file",
                 on(e, query::read_json_lines<tick>(path)).to_vector());
  EXPECT_MESSAGE("read_binary: " + path + ": 28 bytes are not a whole number of rows: one of tick has 24, and the file ends within the one "
                 "that begins at byte 24", on(e, query::read_binary<tick>(path)).to_vector());
  std::filesystem::remove(path);
  EXPECT_MESSAGE("read_binary: cannot read the file: /nowhere/t.bin: ", on(e, query::read_binary<tick>("/nowhere/t.bin")).count());
  EXPECT_MESSAGE("read_csv: no file matches the pattern: /nowhere/*.csv", on(e, query::read_csv<tick>("/nowhere/*.csv")).count());
  EXPECT_MESSAGE("read_csv: there are no files: the list of paths is empty",
                 on(e, query::read_csv<tick>(std::vector<std::string>{})).count());
}

CONFORMS(messages, sinks, "write_csv", "write_json_lines", "write_binary", "to_map") {
  const auto q = source(e, few);
  EXPECT_MESSAGE("write_csv: cannot write the file: /nowhere/t.csv: ", q.write_csv("/nowhere/t.csv"));
  EXPECT_MESSAGE("write_csv: csv_options.quote and .delimiter are the same character", q.write_csv("/nowhere/t.csv", {.delimiter = '"'}));
  EXPECT_MESSAGE("write_csv: csv_options.quote and .delimiter are the same character", q.write_csv("/nowhere/t/", {.delimiter = '"'}));
  EXPECT_MESSAGE("write_csv: cannot write the folder: /nowhere/t/: No such file or directory", q.write_csv("/nowhere/t/"));
  EXPECT_MESSAGE("write_csv: .on_error, .rejected and .file_name_in are options of reading",
                 q.write_csv("/nowhere/t.csv", {.file_name_in = "a"}));
  EXPECT_MESSAGE("write_json_lines: cannot write the file: /nowhere/t.jsonl: ", q.write_json_lines("/nowhere/t.jsonl"));
  EXPECT_MESSAGE("write_json_lines: cannot write the folder: /nowhere/t/: No such file or directory", q.write_json_lines("/nowhere/t/"));
  EXPECT_MESSAGE("write_binary: cannot write the file: /nowhere/t.bin: ", q.write_binary("/nowhere/t.bin"));
  EXPECT_MESSAGE("write_binary: the path names no folder that could be replaced: /", q.write_binary("/"));
  EXPECT_MESSAGE("to_map: two rows have the same key; use to_lookup, or distinct_by first", q.to_map([](auto x) { return x % 2; }));
  const auto map = q.to_map(itself);
  EXPECT_MESSAGE("to_map(...).at: there is no such key; use find, or test contains first", map.at(9));
}

CONFORMS(messages, aggregates, "aggregate", "group_by", "reduce", "value_of") {
  const auto q = source(e, few);
  EXPECT_MESSAGE("last: there is no last row of no rows; ask count() as well, or use last_or_none() of the query",
                 query::value_of(q.where([](auto x) { return x > 10; })).last().get());
  EXPECT_MESSAGE("reduce: there is no first row of no rows",
                 q.where([](auto x) { return x > 10; }).reduce([](auto g) { return g.first(); }));
  EXPECT_MESSAGE("reduce: g.quantile(f, q): q must lie between 0 and 1: 1.5", q.reduce([](auto g) { return g.quantile(itself, 1.5); }));
  EXPECT_MESSAGE("group_by: g.quantile(f, q): q must lie between 0 and 1",
                 q.group_by(itself).select([](auto g) { return g.quantile(itself, -0.5); }).to_vector());
}

CONFORMS(messages, loops, "do_while") {
  const auto q = source(e, few);
  const auto same = [](query::Query<std::int64_t> x) { return x.select([](auto v) { return v ^ 1; }); };
  const auto forever = [](std::span<const std::int64_t>, std::span<const std::int64_t>) { return true; };
  EXPECT_MESSAGE("do_while: the condition still held after 5 rounds", q.do_while(same, forever, 5).count());
  EXPECT_MESSAGE("do_while: query::times(0): a loop runs at least once: at least 1", q.do_while(same, query::times(0)).count());
  EXPECT_MESSAGE("do_while: query::times(9) is more than the most rounds that the third argument allows: 3",
                 q.do_while(same, query::times(9), 3).count());
  EXPECT_EQ(q.do_while(same, query::times(3), 3).count(), q.do_while(same, query::times(3), 0).count());  // 0: no limit
  EXPECT_MESSAGE("do_while: the loop's placeholder was run by a terminal verb",
                 q.do_while([](query::Query<std::int64_t> x) { return x.take(x.count()); }, query::times(2)).count());
}

CONFORMS(messages, functions, "where", "select", "group_by") {
  const auto q = source(e, few);
  EXPECT_MESSAGE("where: predicate: query::must_trace: the function cannot be traced: ",
                 q.where(query::must_trace([](const std::int64_t& x) { return x > 0; })).count());
  if (std::string(e.column) != "interpreter") return;  // natively, C++ says what an integer divided by zero is
  EXPECT_MESSAGE("select: division by zero: the divisor of an integer / or % is 0; test it first",
                 q.select([](auto x) { return 6 / x; }).to_vector());
  EXPECT_MESSAGE("where: division by zero", q.where([](auto x) { return 6 % x == 0; }).count());
  EXPECT_MESSAGE("select: division by zero", q.select([](auto x) { return 6 / x; }).order().to_vector());
  EXPECT_MESSAGE("group_by: division by zero", q.group_by([](auto x) { return 6 / x; }).count().to_vector());
}

TEST(messages, options_of_a_session) {
  EXPECT_MESSAGE("Session: threads must not be negative: -1", query::Session({.threads = -1}));
  EXPECT_MESSAGE("Session: threads: expected at most 4096: found 100000", query::Session({.threads = 100000}));
  EXPECT_MESSAGE("Session: the temp folder is not a folder: /nowhere", query::Session({.temp_folder = "/nowhere"}));
}

// ---------------------------------------------------------------- how a query is stopped

CONFORMS(stopping, a_stopped_token_cancels_before_work_begins, "stop_on") {
  std::stop_source stop;
  stop.request_stop();
  int calls = 0;
  const auto q = source(e, few).stop_on(stop.get_token()).where(query::opaque([&calls](std::int64_t) { return ++calls > 0; }));
  EXPECT_THROW(q.to_vector(), query::cancelled);
  const std::string path = testing::TempDir() + "query_never_written_" + std::to_string(::getpid()) + ".csv";
  EXPECT_THROW(q.write_csv(path), query::cancelled);
  EXPECT_EQ(calls, 0);
  EXPECT_FALSE(std::filesystem::exists(path));
}

struct counting_token {
  std::shared_ptr<std::atomic<int>> left;
  bool stop_requested() const { return --*left < 0; }
};
struct throwing_token {
  std::shared_ptr<std::atomic<int>> left;
  bool stop_requested() const {
    if (--*left < 0) throw std::out_of_range("a token of the user's own");
    return false;
  }
};

CONFORMS(stopping, tokens_of_other_types_are_asked_by_the_query_itself, "stop_on") {
  const auto endless = on(e, query::generate([i = std::int64_t{0}]() mutable { return std::optional(i++); }));
  EXPECT_THROW(endless.stop_on(counting_token{std::make_shared<std::atomic<int>>(3)}).count(), query::cancelled);
  EXPECT_THROW(source(e, few).stop_on(counting_token{std::make_shared<std::atomic<int>>(0)}).count(), query::cancelled);
  EXPECT_EQ(source(e, few).stop_on(counting_token{std::make_shared<std::atomic<int>>(1 << 30)}).count(), 4);
}

CONFORMS(stopping, what_a_token_throws_arrives, "stop_on") {
  const auto endless = on(e, query::generate([i = std::int64_t{0}]() mutable { return std::optional(i++); }));
  EXPECT_THROW(endless.stop_on(throwing_token{std::make_shared<std::atomic<int>>(3)}).count(), std::out_of_range);
  EXPECT_THROW(source(e, few).stop_on(throwing_token{std::make_shared<std::atomic<int>>(0)}).order().to_vector(), std::out_of_range);
}

CONFORMS(stopping, what_a_report_of_progress_throws_arrives, "on_progress") {
  EXPECT_THROW(source(e, few).on_progress([](double) { throw std::out_of_range("enough"); }).order().to_vector(), std::out_of_range);
  EXPECT_EQ(source(e, few).count(), 4);
}

}  // namespace
}  // namespace conformance
