// Queries over generators without an end: whatever can give its first rows without having seen the last one does.
// Each test that is about not collecting has a deadline: a verb that collects fails it instead of hanging.
#include <atomic>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

auto naturals(const engine_config& e) {
  return on(e, query::generate([i = std::int64_t{0}]() mutable { return std::optional(i++); })).timeout(60);
}
// 0, 1, ..., n - 1, 0, 1, ...
auto cycle(const engine_config& e, std::int64_t n) {
  return naturals(e).select([n](auto x) { return x % n; });
}
template <class T> std::vector<T> upto(std::vector<T> v, std::size_t n) {
  v.resize(std::min(n, v.size()));
  return v;
}
std::vector<std::int64_t> counted(std::int64_t n) {
  std::vector<std::int64_t> v;
  for (std::int64_t i = 0; i < n; ++i) v.push_back(i);
  return v;
}
// All ways to take the first n rows.
template <class Q, class T> void check_first(const char* what, const Q& q, const std::vector<T>& wanted) {
  SCOPED_TRACE(what);
  EXPECT_ROWS(q.take(wanted.size()).to_vector(), wanted);
  std::vector<T> rows;
  for (const T& r : q) {
    rows.push_back(r);
    if (rows.size() == wanted.size()) break;
  }
  EXPECT_ROWS(rows, wanted);
  rows.clear();
  for (const T& r : q.take(wanted.size())) rows.push_back(r);
  EXPECT_ROWS(rows, wanted);
  EXPECT_EQ(text(q.first()), text(wanted.front()));
  EXPECT_TRUE(q.any());
  EXPECT_EQ(q.take(wanted.size()).count(), std::ssize(wanted));
  EXPECT_EQ(text(q.element_at(wanted.size() - 1)), text(wanted.back()));
}

CONFORMS(endless, distinct_ends_when_its_reader_has_enough, "distinct", "distinct_by", "take", "begin", "first") {
  check_first("distinct", cycle(e, 5).distinct(), counted(5));
  check_first("many", cycle(e, 20000).distinct(), counted(20000));
  check_first("by", naturals(e).distinct_by([](auto x) { return x / 7; }), selected(counted(30), [](std::int64_t x) { return 7 * x; }));
  check_first("own equality",
              naturals(e).distinct([](std::int64_t a, std::int64_t b) { return a / 7 == b / 7; },
                                   [](std::int64_t a) { return static_cast<std::size_t>(a / 7); }),
              selected(counted(30), [](std::int64_t x) { return 7 * x; }));
  EXPECT_TRUE(cycle(e, 5).distinct().contains(3));
  EXPECT_TRUE(cycle(e, 5).distinct().any([](auto x) { return x == 4; }));
  EXPECT_FALSE(cycle(e, 5).distinct().all([](auto x) { return x < 4; }));
}

// After the third distinct row nothing new comes, ever.
CONFORMS(endless, rows_that_are_there_are_not_held_back_for_rows_that_never_come, "distinct", "begin", "take") {
  const auto rare =
      naturals(e)
          .select([](auto x) { return query::iff(x == 100000, std::int64_t{2}, query::iff(x >= 3000, std::int64_t{1}, std::int64_t{0})); })
          .distinct();
  check_first("rare", rare, counted(3));
  check_first("with a stage above", rare.select([](auto x) { return x + 1; }), selected(counted(3), [](std::int64_t x) { return x + 1; }));
  check_first("chunks", rare.chunk(3), std::vector<std::vector<std::int64_t>>{{0, 1, 2}});
  check_first("take_while", rare.take_while([](auto x) { return x < 5; }), counted(3));
  check_first("skip", rare.skip(1), std::vector<std::int64_t>{1, 2});
  check_first("concat", rare.concat(naturals(e)), counted(3));
  check_first("zip", rare.zip(naturals(e), [](auto a, auto b) { return a + b; }), std::vector<std::int64_t>{0, 2, 4});
}

CONFORMS(endless, chunks_and_windows, "chunk", "window", "first") {
  std::vector<std::vector<std::int64_t>> threes, pairs, gaps;
  for (std::int64_t i = 0; i < 4000; ++i) {
    threes.push_back({3 * i, 3 * i + 1, 3 * i + 2});
    pairs.push_back({i, i + 1});
    gaps.push_back({5 * i, 5 * i + 1});
  }
  check_first("chunk", naturals(e).chunk(3), threes);
  check_first("window", naturals(e).window(2), pairs);
  check_first("window with gaps",
              naturals(e).window(
                  2,
                  [](std::span<const std::int64_t> r) {
                    return std::vector<std::vector<std::int64_t>>{{r.begin(), r.end()}};
                  },
                  5),
              gaps);
  const auto sum = [](std::span<const std::int64_t> r) {
    std::int64_t s = 0;
    for (const auto x : r) s += x;
    return s;
  };
  // Longer than any batch or part; steps longer than that too.
  check_first("long", naturals(e).chunk(200000, sum), std::vector<std::int64_t>{19999900000, 59999900000});
  check_first("long steps", naturals(e).window(2, sum, 150000), std::vector<std::int64_t>{1, 300001, 600001});
  check_first("chunks of chunks", naturals(e).chunk(200, sum).chunk(500, sum), std::vector<std::int64_t>{4999950000, 14999950000});
  EXPECT_ROWS(naturals(e).chunk(3).first(), (std::vector<std::int64_t>{0, 1, 2}));
}

CONFORMS(endless, beginnings_and_ends_of_sequences, "take_while", "skip", "skip_while", "concat", "append", "prepend", "default_if_empty",
         "zip", "element_at") {
  const auto later = selected(counted(100), [](std::int64_t x) { return x + 20000; });
  check_first("skip", naturals(e).skip(20000), later);
  check_first("skip_while", naturals(e).skip_while([](auto x) { return x < 20000; }), later);
  check_first("take_while", naturals(e).take_while([](auto x) { return x >= 0; }), counted(20000));
  check_first("take", naturals(e).take(std::uint64_t{1} << 60), counted(20000));
  EXPECT_ROWS(naturals(e).take_while([](auto x) { return x < 20000; }).to_vector(), counted(20000));
  EXPECT_ROWS(naturals(e).skip(5).take_while([](auto x) { return x < 7; }).to_vector(), std::vector<std::int64_t>({5, 6}));
  check_first("default_if_empty", naturals(e).default_if_empty(7), counted(10));
  const std::vector<std::int64_t> few = {-2, -1};
  std::vector<std::int64_t> wanted = few;
  for (std::int64_t i = 0; i < 20000; ++i) wanted.push_back(i);
  check_first("concat", source(e, few).timeout(60).concat(naturals(e)), wanted);
  check_first("endless first", naturals(e).concat(source(e, few)), counted(100));
  check_first("append", naturals(e).append(3), counted(100));
  wanted = upto(wanted, 50);
  wanted.erase(wanted.begin());
  check_first("prepend", naturals(e).prepend(-1), wanted);
  check_first("zip", naturals(e).zip(naturals(e), [](auto a, auto b) { return a + b; }),
              selected(counted(20000), [](std::int64_t x) { return 2 * x; }));
  const auto text = naturals(e).where([](auto x) { return x >= 0; }).zip(source(e, std::vector<std::string>{"a", "b"}));
  std::string all;
  for (const auto& [i, s] : text) all += std::to_string(i) + s;
  EXPECT_EQ(all, "0a1b");
}

CONFORMS(endless, unions_and_row_wise_verbs, "union_with", "union_with_by", "select_many", "index", "where", "semi_join") {
  check_first("union_with", cycle(e, 4).union_with(naturals(e)), counted(4));
  const std::vector<std::int64_t> few = {1, 0, 1};
  std::vector<std::int64_t> wanted = {1, 0};
  for (std::int64_t i = 2; i < 20000; ++i) wanted.push_back(i);
  check_first("union with a table", source(e, few).timeout(60).union_with(naturals(e)), wanted);
  check_first("union_with_by", naturals(e).union_with_by(naturals(e), [](auto x) { return x / 2; }),
              selected(counted(100), [](std::int64_t x) { return 2 * x; }));
  check_first("select_many", naturals(e).select_many([](std::int64_t x) {
    return std::vector<std::int64_t>{2 * x, 2 * x + 1};
  }),
              counted(20000));
  const auto odd = naturals(e).where([](auto x) { return x % 2 == 1; });
  std::int64_t n = 0;
  for (const auto& x : odd.index()) {
    ASSERT_EQ(x.index, n);
    ASSERT_EQ(x.value, 2 * n + 1);
    if (++n == 20000) break;
  }
  check_first("a number above a filter", odd.where([](std::int64_t, std::int64_t i) { return i % 2 == 0; }),
              selected(counted(10000), [](std::int64_t x) { return 4 * x + 1; }));
  check_first("numbers above chunks",
              naturals(e).chunk(2).select([](const std::vector<std::int64_t>& c, std::int64_t i) { return c[0] - i; }), counted(5000));
  check_first("semi_join",
              naturals(e).semi_join(
                  source(e, counted(10)), [](auto x) { return x % 100; }, [](auto x) { return x; }),
              counted(10));
}

CONFORMS(endless, verbs_one_above_the_other, "chunk", "distinct", "skip", "take_while", "concat", "sequence_equal") {
  const auto q = naturals(e)
                     .skip(10)
                     .select([](auto x) { return x / 3; })
                     .distinct()
                     .where([](auto x) { return x % 2 == 0; })
                     .chunk(4)
                     .skip(1)
                     .select([](const auto& c) { return c[0]; });
  check_first("pipeline", q, selected(counted(1000), [](std::int64_t x) { return 8 * x + 12; }));
  EXPECT_FALSE(naturals(e).chunk(2).sequence_equal(naturals(e).chunk(3)));
  EXPECT_FALSE(naturals(e).distinct().sequence_equal(naturals(e).skip(1)));
}

// Strings move through the same pieces as numbers.
CONFORMS(endless, rows_that_own_memory, "distinct", "chunk", "concat", "zip", "take_while") {
  const auto words = naturals(e).select(
      [](std::int64_t x) { return "a word that is longer than fifteen characters, number " + std::to_string(x % 10000); });
  std::vector<std::string> wanted;
  for (int i = 0; i < 10000; ++i) wanted.push_back("a word that is longer than fifteen characters, number " + std::to_string(i));
  check_first("distinct", words.distinct(), wanted);
  check_first("take_while", words.take_while([](const std::string& s) { return !s.empty(); }), wanted);
  check_first("chunk", words.chunk(2, [](std::span<const std::string> r) { return r[1]; }),
              std::vector<std::string>{wanted[1], wanted[3], wanted[5]});
  check_first("window", words.window(2, [](std::span<const std::string> r) { return r[0]; }), wanted);
  const std::vector<std::string> few = {"one", "another word that is longer than fifteen characters"};
  std::vector<std::string> both = few;
  both.insert(both.end(), wanted.begin(), wanted.begin() + 10);
  check_first("concat", source(e, few).timeout(60).concat(words), both);
  check_first("union", source(e, few).timeout(60).union_with(words), both);
  check_first("zip", words.zip(words, [](const std::string& a, const std::string& b) { return a + b; }),
              selected(upto(wanted, 100), [](const std::string& s) { return s + s; }));
  EXPECT_EQ(few[1], "another word that is longer than fifteen characters");  // only what was made on the way is moved from
}

// The same rows come out of streams that end as out of tables.
CONFORMS(endless, streams_that_end, "chunk", "window", "distinct", "union_with", "concat", "skip", "skip_while", "take_while", "zip",
         "default_if_empty", "index") {
  for (const std::int64_t n : {0, 1, 1023, 1025, 9216, 76001}) {
    SCOPED_TRACE(n);
    const auto stream = on(e, query::range(std::int64_t{0}, static_cast<std::uint64_t>(n))).select([](auto x) { return x * 7 % 1000; });
    std::vector<std::int64_t> rows = selected(counted(n), [](std::int64_t x) { return x * 7 % 1000; });
    const auto table = source(e, rows);
    const auto check = [&](const char* what, auto f) {
      SCOPED_TRACE(what);
      const auto wanted = f(table).to_vector();
      EXPECT_ROWS(f(stream).to_vector(), wanted);
      std::remove_const_t<decltype(wanted)> got;
      for (const auto& r : f(stream)) got.push_back(r);
      EXPECT_ROWS(got, wanted);
      EXPECT_EQ(f(stream).count(), std::ssize(wanted));
    };
    const auto sum = [](std::span<const std::int64_t> r) {
      std::int64_t s = 0;
      for (const auto x : r) s += x;
      return s;
    };
    for (const std::uint64_t k : {2u, 1000u, 70000u}) {
      check("chunk", [&](const auto& q) { return q.chunk(k, sum); });
      for (const std::uint64_t step : {1u, 2500u})
        if (k * static_cast<std::uint64_t>(n) / step < 10000000) check("window", [&](const auto& q) { return q.window(k, sum, step); });
      check("skip", [&](const auto& q) { return q.skip(k); });
      check("take", [&](const auto& q) { return q.take(k); });
      check("skip, take", [&](const auto& q) { return q.skip(k).take(k); });
    }
    check("distinct", [](const auto& q) { return q.distinct().as_ordered(); });
    check("union", [](const auto& q) { return q.union_with(q.select([](auto x) { return x + 500; })).as_ordered(); });
    check("concat", [](const auto& q) { return q.concat(q.where([](auto x) { return x < 3; })); });
    check("take_while", [](const auto& q) { return q.take_while([](auto x) { return x < 990; }); });
    check("skip_while", [](const auto& q) { return q.skip_while([](auto x) { return x < 990; }); });
    check("zip", [](const auto& q) { return q.zip(q.skip(3), [](auto a, auto b) { return a - b; }); });
    check("default_if_empty", [](const auto& q) { return q.where([](auto x) { return x < 0; }).default_if_empty(5); });
    check("index", [](const auto& q) {
      return q.where([](auto x) { return x % 2 == 0; }).select([](std::int64_t x, std::int64_t i) { return x + i; });
    });
  }
}

CONFORMS(endless, a_reader_computes_no_more_than_it_asks_for, "chunk", "distinct", "first") {
  static std::atomic<std::int64_t> made;
  const auto counting = on(e, query::generate([i = std::int64_t{0}]() mutable {
    ++made;
    return std::optional(i++);
  })).timeout(60);
  made = 0;
  EXPECT_EQ(counting.distinct().first(), 0);
  EXPECT_LE(made, 1024);
  made = 0;
  EXPECT_EQ(counting.chunk(10).skip(3).first().front(), 30);
  EXPECT_LE(made, 1024);
  made = 0;
  EXPECT_EQ(counting.take(0).to_vector().size(), 0u);
  EXPECT_LE(made, 1024);
}

CONFORMS(endless, exceptions_and_deadlines_reach_the_reader, "distinct", "chunk", "timeout") {
  struct trouble {};
  const auto throwing = query::opaque([](std::int64_t x) -> std::int64_t {
    if (x == 100000) throw trouble{};
    return x;
  });
  const auto q = naturals(e).select(throwing);
  EXPECT_ROWS(q.distinct().take(1000).to_vector(), counted(1000));
  EXPECT_THROW(q.distinct().take(200000).to_vector(), trouble);
  EXPECT_THROW(q.chunk(2).take(200000).to_vector(), trouble);
  EXPECT_THROW(q.skip(99999).element_at(1), trouble);
  EXPECT_THROW(for (const auto& c : q.chunk(3)) EXPECT_EQ(c.size(), 3u), trouble);
  EXPECT_THROW(cycle(e, 5).timeout(0.05).distinct().take(6).to_vector(), query::cancelled);
  EXPECT_THROW(cycle(e, 5).timeout(0.05).distinct().element_at(5), query::cancelled);
  EXPECT_THROW(naturals(e).chunk(0).first(), query::user_error);
}

CONFORMS(endless, the_plan_says_what_is_streamed, "explain", "verify") {
  const auto q = naturals(e).chunk(3);
  EXPECT_NE(q.explain().find("streamed"), std::string::npos) << q.explain();
  EXPECT_NE(naturals(e).distinct().take(5).explain().find("streamed"), std::string::npos);
  const auto rows = counted(5);
  EXPECT_EQ(source(e, rows).chunk(3).explain().find("streamed"), std::string::npos);
  EXPECT_EQ(naturals(e).order().explain().find("streamed"), std::string::npos);
  EXPECT_ROWS(naturals(e).verify().where([](auto x) { return x % 2 == 0; }).distinct().take(3).to_vector(),
              std::vector<std::int64_t>({0, 2, 4}));
}

}  // namespace
}  // namespace conformance
