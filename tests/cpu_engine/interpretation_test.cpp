// Sessions that interpret call no traced function natively, whatever the verb and the source: each test's functions count the
// calls that meet a plain row instead of a symbolic one. What cannot be interpreted runs natively, and explain() says why.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <query/query.hpp>

namespace interpretation_test {

struct Fill {
  std::int32_t id = 0, symbol = 0;
  double price = 0;
  std::string venue;
  std::optional<std::int32_t> rank;
  bool operator==(const Fill&) const = default;
};
QUERY_RECORD(Fill, id, symbol, price, venue, rank);
struct Stock {
  std::int64_t symbol = 0;
  std::int32_t sector = 0;
  bool operator==(const Stock&) const = default;
};
QUERY_RECORD(Stock, symbol, sector);

std::atomic<std::int64_t> native_calls = 0;

template <class... Rows> void note_call(const Rows&...) {
  if constexpr (!(query::detail::is_twin_v<Rows> || ...)) native_calls.fetch_add(1, std::memory_order_relaxed);
}
// f, and a count of its calls with rows as they are.
template <class F> auto counted(F f) {
  return [f](const auto& row) {
    note_call(row);
    return f(row);
  };
}
template <class F> auto counted_pair(F f) {
  return [f](const auto& left, const auto& right) {
    note_call(left, right);
    return f(left, right);
  };
}
const auto symbol = counted([](auto t) { return t.symbol; });
const auto id = counted([](auto t) { return t.id; });
const auto price = counted([](auto t) { return t.price; });
const auto venue = counted([](auto t) { return t.venue; });
const auto dear = counted([](auto t) { return t.price > 40.0; });
const auto even = counted([](auto t) { return t.id % 2 == 0; });
const auto doubled = counted([](auto x) { return x * 2; });

const query::Session compiled({.threads = 2}), interpreted({.threads = 2, .interpret = true});

constexpr std::int32_t fill_count = 3000;
const std::vector<Fill> fills = [] {
  std::vector<Fill> f;
  for (std::int32_t i = 0; i < fill_count; ++i)
    f.push_back({i, i % 7, static_cast<double>(i % 100), i % 3 ? "here" : "there, a name that needs memory of its own",
                 i % 5 ? std::optional(i % 4) : std::nullopt});
  return f;
}();
const std::vector<Stock> stocks{{0, 1}, {1, 1}, {2, 2}, {3, 2}, {99, 3}};
const query::columns_of<Fill> columns = query::from(fills).to_vectors();

// The same rows in both sessions, and no native call in the one that interprets.
template <class Q, class Run> void expect_interpreted(const Q& q, Run run, const char* what) {
  native_calls = 0;
  const auto expected = run(q.in(compiled));
  EXPECT_GT(native_calls, 0) << what << ": the test counts nothing";
  native_calls = 0;
  const auto got = run(q.in(interpreted));
  EXPECT_EQ(native_calls, 0) << what << "\n" << q.in(interpreted).explain();
  EXPECT_TRUE(got == expected) << what;
}
#define EXPECT_INTERPRETED(...) expect_interpreted((__VA_ARGS__), [](const auto& q) { return q.to_vector(); }, #__VA_ARGS__)

template <class Source> void row_wise_verbs(const Source& rows) {
  EXPECT_INTERPRETED(rows.where(dear));
  EXPECT_INTERPRETED(rows.where(dear).where(even));
  EXPECT_INTERPRETED(rows.select(price));
  EXPECT_INTERPRETED(rows.select(venue));
  EXPECT_INTERPRETED(rows.where(dear).select(venue));
  EXPECT_INTERPRETED(rows.where(dear).where(even).select(price).where(counted([](auto x) { return x < 90.0; })).select(doubled));
  EXPECT_INTERPRETED(rows.select(counted([](auto t) { return std::tuple(t.symbol, t.venue); })));
  EXPECT_INTERPRETED(rows.select(counted([](auto t) { return t; })).where(even));
  EXPECT_INTERPRETED(rows.where(counted([](auto) { return false; })).select(price));
  EXPECT_INTERPRETED(rows.where(even).as_query().where(dear).order_by(counted([](auto t) { return -t.id; })));
  const auto numbered = counted_pair([](auto t, auto at) { return t.id * 3 + at; });
  EXPECT_INTERPRETED(rows.select(numbered));
  EXPECT_INTERPRETED(rows.where(even).select(numbered).select(doubled));
  EXPECT_INTERPRETED(rows.where(counted_pair([](auto t, auto at) { return (t.id + at) % 3 == 0; })).where(dear).select(price));
  // Neither session calls what kernels run over columns: comparisons of fields, and fields themselves.
  const auto negative = counted([](auto t) { return -t.price; });
  expect_interpreted(rows.where(even).select(price), [](const auto& q) { return q.sum(); }, "sum");
  expect_interpreted(rows.where(even), [](const auto& q) { return q.count(); }, "count");
  expect_interpreted(rows, [=](const auto& q) { return q.max(negative); }, "max");
}

TEST(interpretation, of_rows) { row_wise_verbs(query::from(fills)); }
TEST(interpretation, of_columns) { row_wise_verbs(query::from(query::columns(columns))); }
TEST(interpretation, of_streams) {
  EXPECT_INTERPRETED(query::range<std::int64_t>(0, 5000).where(counted([](auto x) { return x % 3 == 0; })).select(doubled));
}

TEST(interpretation, of_columns_under_other_verbs) {
  const auto rows = query::from(query::columns(columns));
  EXPECT_INTERPRETED(
      rows.where(even).group_by(symbol).select([](auto g) { return std::pair(g.key(), g.sum(price)); }).order_by(counted([](auto g) {
        return g.first;
      })));
  EXPECT_INTERPRETED(rows.order_by(venue).then_by_descending(id).select(id));
  EXPECT_INTERPRETED(rows.distinct_by(symbol).order_by(symbol).select(symbol));
  // Neither session calls these: they are evaluated over columns.
  const auto first = rows.select(id).take_while(counted([](auto x) { return x < 1500; }));
  EXPECT_TRUE(first.in(compiled).to_vector() == first.in(interpreted).to_vector());
}

// ---------------------------------------------------------------- chains with a function that cannot be interpreted
std::atomic<std::int64_t> opaque_calls = 0;
const auto half = [](std::int32_t x) {
  opaque_calls.fetch_add(1, std::memory_order_relaxed);
  return x / 2;
};

template <class Source> void chain_around_an_opaque_function(const Source& rows, const std::string& forms) {
  const auto q = rows.where(even).select(id).select(half).where(counted([](auto x) { return x % 3 == 0; })).select(doubled);
  opaque_calls = 0;
  EXPECT_INTERPRETED(q);
  EXPECT_EQ(opaque_calls, 2 * fill_count / 2);
  const std::string plan = q.in(interpreted).explain();
  EXPECT_NE(plan.find(forms + "; select @interpretation_test.cpp:"), std::string::npos) << plan;
  EXPECT_NE(plan.find(" natively: its parameter is not generic"), std::string::npos) << plan;
}
TEST(interpretation, splits_a_chain_at_an_opaque_function) {
  chain_around_an_opaque_function(query::from(fills), "where, select, select, where, select: interpreted");
}
TEST(interpretation, splits_a_chain_over_columns_at_an_opaque_function) {
  chain_around_an_opaque_function(query::from(query::columns(columns)), "select, where, select: interpreted");
}

TEST(interpretation, of_columns_whose_first_function_is_opaque) {
  const auto q = query::from(query::columns(columns)).where([](const Fill& f) { return f.venue == "here"; }).where(even).select(price);
  EXPECT_INTERPRETED(q);
}

TEST(interpretation, splits_a_chain_at_select_many) {
  const auto q = query::from(fills).where(even).select_many([](const Fill& f) { return std::array{f.id, f.symbol}; }).select(doubled);
  EXPECT_INTERPRETED(q);
  const std::string plan = q.in(interpreted).explain();
  EXPECT_NE(plan.find("select_many @interpretation_test.cpp:"), std::string::npos) << plan;
}

TEST(interpretation, leaves_a_loop_of_row_numbers_whole_and_says_so) {
  const auto q = query::from(fills).select(id).select([](std::int32_t x, std::int64_t at) { return x + at; });
  EXPECT_EQ(q.in(interpreted).to_vector(), q.in(compiled).to_vector());
  const std::string plan = q.in(interpreted).explain();
  EXPECT_NE(plan.find("not interpreted: its loop cannot be split at select @interpretation_test.cpp:"), std::string::npos) << plan;
  EXPECT_EQ(q.in(compiled).explain().find("not interpreted"), std::string::npos);
}

// ---------------------------------------------------------------- joins
TEST(interpretation, of_joins_whose_keys_are_converted) {
  const auto left = query::from(fills);
  const auto right = query::from(stocks);
  const auto pair = counted_pair([](auto l, auto r) { return l.id + r.sector; });
  const auto by_double = counted([](auto r) { return query::cast<double>(r.symbol); });
  const auto rank = counted([](auto t) { return t.rank; });
  EXPECT_INTERPRETED(left.join(right, symbol, symbol, pair).as_ordered());
  EXPECT_INTERPRETED(left.join(right, symbol, by_double, pair).as_ordered());
  EXPECT_INTERPRETED(left.join(right, rank, symbol, pair).as_ordered());
  EXPECT_INTERPRETED(right.join(left, symbol, rank, counted_pair([](auto l, auto r) { return l.sector + r.id; })).as_ordered());
  EXPECT_INTERPRETED(left.semi_join(right, symbol, symbol).as_ordered());
  EXPECT_INTERPRETED(left.anti_join(right, rank, symbol).as_ordered());
  // Functions that only compute: others run over columns in any session.
  const auto of_left = counted_pair([](auto l, auto r) { return query::iff(r.has_value(), l.id, -l.id); });
  const auto of_right = counted_pair([](auto l, auto r) { return query::iff(l.has_value(), r.sector, -r.sector); });
  const auto of_both = counted_pair([](auto l, auto r) { return query::iff(l.has_value(), 1, query::iff(r.has_value(), 2, 3)); });
  EXPECT_INTERPRETED(left.left_join(right, symbol, symbol, of_left).as_ordered());
  EXPECT_INTERPRETED(left.right_join(right, symbol, symbol, of_right).as_ordered());
  EXPECT_INTERPRETED(left.full_join(right, symbol, by_double, of_both).as_ordered());
  EXPECT_INTERPRETED(query::from(query::columns(columns)).join(right, symbol, symbol, pair).as_ordered());
  const std::string plan = left.join(right, symbol, symbol, pair).in(interpreted).explain();
  EXPECT_NE(plan.find("join: probes the hash table of its right side, v1, interpreted\n"), std::string::npos) << plan;
}

TEST(interpretation, of_group_join_but_for_its_result) {
  const auto q = query::from(fills).group_join(query::from(stocks), symbol, symbol,
                                               [](const Fill& l, const std::vector<Stock>& r) { return l.id + std::ssize(r); });
  EXPECT_INTERPRETED(q);
  const std::string plan = q.in(interpreted).explain();
  EXPECT_NE(plan.find("group_join, interpreted"), std::string::npos) << plan;
  EXPECT_NE(plan.find("result runs natively: its parameter is not generic"), std::string::npos) << plan;
}

TEST(interpretation, says_which_function_of_a_join_runs_natively) {
  const auto q = query::from(fills)
                     .join(query::from(stocks), symbol, symbol, [](const Fill& l, const Stock& r) { return l.id + r.sector; })
                     .as_ordered();
  EXPECT_INTERPRETED(q);
  const std::string plan = q.in(interpreted).explain();
  EXPECT_NE(plan.find("v1, interpreted; result natively: "), std::string::npos) << plan;
}

// ---------------------------------------------------------------- the rest
TEST(interpretation, of_collections_captured_by_value_and_by_reference) {
  const auto wanted = query::broadcast(std::vector<std::int32_t>{1, 3, 5});
  EXPECT_INTERPRETED(query::from(fills).where(counted([wanted](auto t) { return wanted.contains(t.symbol); })));
  EXPECT_INTERPRETED(query::from(fills).where(counted([&wanted](auto t) { return wanted.contains(t.symbol); })));
  EXPECT_INTERPRETED(
      query::from(query::columns(columns)).where(counted([&wanted](auto t) { return wanted.contains(t.symbol); })).select(id));
  EXPECT_INTERPRETED(query::from(fills)
                         .join(query::from(stocks), symbol, symbol,
                               counted_pair([wanted](auto l, auto r) { return std::pair(l.id, wanted.contains(r.sector)); }))
                         .as_ordered());
  EXPECT_INTERPRETED(query::from(fills).aggregate(
      [&wanted](auto g) { return g.count(counted([&wanted](auto t) { return wanted.contains(t.symbol); })); }));
}

TEST(interpretation, of_predicates_that_moved) {
  // The test goes below the sort, as a function of its rows.
  const auto q = query::from(fills).order_by_descending(id).where(dear);
  EXPECT_INTERPRETED(q);
  EXPECT_NE(q.in(interpreted).explain().find("prefilter (price > 40.0): interpreted"), std::string::npos) << q.in(interpreted).explain();
}

TEST(interpretation, is_not_claimed_for_verbs_without_functions) {
  const std::string plan = query::from(fills).reverse().in(interpreted).explain();
  EXPECT_EQ(plan.find("interpreted"), std::string::npos) << plan;
}

}  // namespace interpretation_test
