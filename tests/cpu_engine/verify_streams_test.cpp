// Verify mode samples rows that come piece by piece without reading them twice, and shows of a row what was read of it.
#include <gtest/gtest.h>

#include <cstdint>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <query/query.hpp>

namespace verify_streams_test {

// The value itself; its trace is another.
template <class V> auto lie(const V& v) {
  if constexpr (std::is_arithmetic_v<V>) return v;
  else return v + 1;
}
const auto itself = [](auto x) { return x; };
const auto wrong = [](auto x) { return lie(x); };
const auto wrong_test = [](auto x) { return lie(x) < 7; };  // differs at 6

template <class F> std::string message_of(F run) {
  try {
    run();
  } catch (const query::user_error& e) {
    return e.what();
  }
  return "nothing was found";
}
#define EXPECT_FOUND(text, ...)                                         \
  do {                                                                  \
    const std::string m = message_of([&] { (void)(__VA_ARGS__); });     \
    EXPECT_EQ(m.find(std::string("verify: ") + text), 0u) << m;         \
  } while (false)

auto numbers() { return query::range<std::int64_t>(0, 100000).verify(); }

TEST(verify_streams, samples_every_source_that_comes_in_pieces) {
  EXPECT_FOUND("where, predicate: row 6 = 6", numbers().where(wrong_test).count());
  EXPECT_FOUND("select, projection: row 0 = 5", query::repeat(5, 10).verify().select(wrong).to_vector());
  EXPECT_FOUND("select, projection: row 0 = 4", query::from(std::list<int>{4, 5}).verify().select(wrong).to_vector());
  const std::list<int> kept{4, 5};
  EXPECT_FOUND("where, predicate: row 0 = 4", query::from(kept).verify().where([](auto x) { return lie(x) < 5; }).to_vector());
  EXPECT_FOUND("select, projection: row 0 = 3", query::from({3, 4}).verify().select(wrong).to_vector());
  int next = 0;
  const auto three = [&next]() -> std::optional<int> { return next < 3 ? std::optional(next++) : std::nullopt; };
  EXPECT_FOUND("group_by, key: row 0 = 0", query::generate(three).verify().group_by(wrong).count().to_vector());
}

TEST(verify_streams, samples_what_vertices_hand_on) {
  EXPECT_FOUND("take_while, predicate: row 6 = 6", numbers().take_while(wrong_test).count());
  EXPECT_FOUND("select, projection: row 0 = 3", numbers().skip(3).select(wrong).to_vector());
  EXPECT_FOUND("zip, result: left row 0 = 0", numbers().zip(numbers(), [](auto l, auto r) { return lie(l) + r; }).to_vector());
}

TEST(verify_streams, samples_both_sides_of_joins) {
  EXPECT_FOUND("join, left key: left row 0 = 0", numbers().join(numbers(), wrong, itself).count());
  EXPECT_FOUND("join, right key: right row 0 = 0", numbers().join(numbers(), itself, wrong).count());
  EXPECT_FOUND("full_join, right key: right row 0 = 0", numbers().full_join(numbers(), itself, wrong).count());
  EXPECT_FOUND("join, result: left row 0 = 0, right row 0 = 0",
               numbers().join(numbers(), itself, itself, [](auto l, auto r) { return l + lie(r); }).to_vector());
}

// Gives 0, 1, ... and remembers how far it came: what it has given once it does not give again.
struct counting {
  int* next;
  int end, fails_at = -1;
  std::optional<int> operator()() const {
    if (*next == fails_at) {
      ++*next;
      throw std::runtime_error("no row today");
    }
    return *next < end ? std::optional((*next)++) : std::nullopt;
  }
};

TEST(verify_streams, reads_a_generator_once) {
  for (const int n : {0, 3, 1000, 1024, 5000}) {
    std::vector<int> expected;
    for (int i = 0; i < n; ++i) expected.push_back(i);
    int given = 0;
    EXPECT_EQ(query::generate(counting{&given, n}).verify().where([](auto x) { return x >= 0; }).to_vector(), expected);
    given = 0;
    EXPECT_EQ(query::generate(counting{&given, n}).verify().skip_while([](auto x) { return x < 2; }).count(), n > 2 ? n - 2 : 0);
    given = 0;
    EXPECT_EQ(query::generate(counting{&given, n}).verify().order_by_descending(itself).count(), n);
    given = 0;
    EXPECT_EQ(query::generate(counting{&given, n}).verify().right_join(query::from({1, 2}), itself, itself).count(), 2);
    given = 0;
    EXPECT_EQ(query::from({1, 2}).verify().full_join(query::generate(counting{&given, n}), itself, itself).count(), n >= 3 ? n : n + 2);
  }
}

TEST(verify_streams, hands_on_what_a_generator_throws) {
  for (const int fails_at : {0, 5, 3000}) {
    int given = 0;
    const auto q = query::generate(counting{&given, 10000, fails_at}).verify().where([](auto x) { return x >= 0; });
    EXPECT_THROW(q.to_vector(), std::runtime_error) << fails_at;
  }
}

TEST(verify_streams, reads_no_further_than_the_query) {
  int with = 0, without = 0;
  EXPECT_EQ(query::generate(counting{&without, 1 << 20}).take(3).count(), 3);
  EXPECT_EQ(query::generate(counting{&with, 1 << 20}).verify().take(3).count(), 3);
  EXPECT_LE(with, std::max(without, 1024));
}

TEST(verify_streams, in_loops_each_round_has_rows_of_its_own) {
  const auto step = [](query::Query<std::int64_t> q) {
    return q.concat(query::range<std::int64_t>(0, 3)).where([](auto x) { return x >= 0; });
  };
  EXPECT_EQ(query::range<std::int64_t>(0, 2).verify().do_while(step, query::times(3)).count(), 2 + 3 * 3);
}

// ---------------------------------------------------------------- what a report shows
struct Fill {
  std::int32_t id = 0, symbol = 0;
  double price = 0;
  std::string venue;
};
QUERY_RECORD(Fill, id, symbol, price, venue);
struct Stock {
  std::int64_t symbol = 0;
  std::int32_t sector = 0;
};
QUERY_RECORD(Stock, symbol, sector);
const std::vector<Fill> fills{{1, 10, 0.5, "here"}, {2, 20, 1.5, "there"}};
const query::columns_of<Fill> columns = query::from(fills).to_vectors();

TEST(verify_reports, mark_the_columns_that_nobody_reads) {
  const auto rows = query::from(query::columns(columns)).verify();
  EXPECT_FOUND("select, projection: row 0 = {id not read, symbol: 10, price not read, venue not read}: native 10, traced 11",
               rows.select([](auto t) { return lie(t.symbol); }).to_vector());
  EXPECT_FOUND(
      "group_by, key: row 0 = {id not read, symbol: 10, price: 0.5, venue not read}",
      rows.group_by([](auto t) { return lie(t.symbol); }).select([](auto g) { return g.sum([](auto t) { return t.price; }); }).to_vector());
  EXPECT_FOUND("where, predicate: row 0 = {id: 1, symbol: 10, price: 0.5, venue: \"here\"}",
               rows.where([](auto t) { return lie(t.symbol) == 10; }).to_vector());
  const auto stocks = query::from(std::vector<Stock>{{10, 1}});
  const auto by_symbol = [](auto t) { return t.symbol; };
  EXPECT_FOUND(
      "join, result: left row 0 = {id not read, symbol: 10, price: 0.5, venue not read}, right row 0 = {symbol: 10, sector: 1}",
      rows.join(stocks, by_symbol, by_symbol, [](auto l, auto r) { return lie(l.price) + query::cast<double>(r.sector); }).to_vector());
}

// The keys meet in std::int64_t, natively and traced.
TEST(verify_reports, nothing_of_keys_that_are_converted) {
  const auto by_symbol = [](auto t) { return t.symbol; };
  const auto stocks = query::from(std::vector<Stock>{{10, 1}, {-20, 2}});
  EXPECT_EQ(query::from(fills).verify().join(stocks, by_symbol, by_symbol).count(), 1);
  EXPECT_EQ(query::from(fills).verify().full_join(stocks, by_symbol, by_symbol).count(), 3);
  EXPECT_FOUND("join, left key: left row 0 = ", query::from(fills)
                                                    .verify()
                                                    .join(
                                                        stocks, [](auto t) { return lie(t.symbol); }, by_symbol)
                                                    .count());
}

}  // namespace verify_streams_test
