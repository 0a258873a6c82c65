// order_by over columns: rows stay where they are, and the result is their numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "sanitized.hpp"

namespace query::tests {

struct sorted_item {
  std::int32_t k;
  std::string s;
  double d;
  bool operator==(const sorted_item&) const = default;
};
QUERY_RECORD(sorted_item, k, s, d);
struct sorted_made {
  std::string s;
  std::int32_t k;
  double e;
  bool operator==(const sorted_made&) const = default;
};
QUERY_RECORD(sorted_made, s, k, e);
struct sorted_number {
  double d;
};
QUERY_RECORD(sorted_number, d);

namespace {

struct sorted_input {
  std::vector<std::int32_t> k;
  std::vector<std::string> s;
  std::vector<double> d;
  std::vector<sorted_item> rows;

  explicit sorted_input(std::size_t n) {
    std::mt19937_64 random(n + 1);
    for (std::size_t i = 0; i < n; ++i) {
      k.push_back(static_cast<std::int32_t>(random() % 1000));
      s.push_back(std::string(random() % 30, static_cast<char>('a' + random() % 26)) + std::to_string(random() % 100));
      d.push_back(random() % 50 == 0 ? -0.0 : static_cast<double>(random() % 500) / 7);
      rows.push_back({k.back(), s.back(), d.back()});
    }
  }
};

const auto by_k = [](auto r) { return r.k; };
const auto by_s = [](auto r) { return r.s; };
const auto by_d = [](auto r) { return r.d; };
const auto by_e = [](auto r) { return r.e; };
const auto odd = [](auto r) { return r.k % 3 != 0; };
const auto make_row = [](auto r) { return query::make<sorted_made>(r.s, r.k, r.d * 2 + r.k); };

template <class T, class Less> std::vector<T> sorted(std::vector<T> rows, Less less) {
  std::stable_sort(rows.begin(), rows.end(), less);
  return rows;
}
template <class T> std::vector<T> first(std::vector<T> rows, std::size_t n) {
  rows.resize(std::min(n, rows.size()));
  return rows;
}

// Over columns and over records that hold strings, which are both read where they lie.
// little: of memory, which holds no result.
template <class Q> void sorts(const Q& q, const sorted_input& in, bool little) {
  const auto two = [](const sorted_item& a, const sorted_item& b) { return a.k != b.k ? a.k < b.k : a.d > b.d; };
  const std::vector<sorted_item> by_two = sorted(in.rows, two);
  const auto ordered = q.order_by(by_k).then_by_descending(by_d);
  EXPECT_TRUE(q.order_by(by_s).to_vector() == sorted(in.rows, [](auto& a, auto& b) { return a.s < b.s; }));
  EXPECT_TRUE(ordered.to_vector() == by_two);
  EXPECT_TRUE(ordered.take(7).to_vector() == first(by_two, 7));
  EXPECT_TRUE(ordered.take(20'000).to_vector() == first(by_two, 20'000));
  std::vector<sorted_item> read;
  for (const sorted_item& r : ordered) read.push_back(r);
  EXPECT_TRUE(read == by_two);
  read.clear();
  for (const auto& chunk : little ? ordered.take(5000).to_columns() : ordered.to_columns())
    for (std::size_t i = 0; i < chunk.size(); ++i)
      read.push_back({chunk.template get<0>()[i], std::string(std::string_view(chunk.template get<1>()[i])), chunk.template get<2>()[i]});
  EXPECT_TRUE(read == (little ? first(by_two, 5000) : by_two));

  // Behind a test, and behind a projection that renames and computes.
  std::vector<sorted_item> kept = in.rows;
  std::erase_if(kept, [](const sorted_item& r) { return r.k % 3 == 0; });
  EXPECT_TRUE(q.where(odd).order_by(by_s).to_vector() == sorted(kept, [](auto& a, auto& b) { return a.s < b.s; }));
  std::vector<sorted_made> made;
  for (const sorted_item& r : kept) made.push_back({r.s, r.k, r.d * 2 + r.k});
  const auto behind = q.where(odd).select(make_row);
  const auto less_e = [](const sorted_made& a, const sorted_made& b) { return a.e < b.e; };
  const auto less_sum = [](const sorted_made& a, const sorted_made& b) { return a.k + a.e < b.k + b.e; };
  EXPECT_TRUE(behind.order_by(by_e).to_vector() == sorted(made, less_e));
  EXPECT_TRUE(behind.order_by([](const sorted_made& r) { return r.e; }).to_vector() == sorted(made, less_e));
  EXPECT_TRUE(behind.order_by([](auto r) { return r.k + r.e; }).to_vector() == sorted(made, less_sum));
  EXPECT_TRUE(behind.order_by([](auto r) { return r.k + r.e; }).take(10).to_vector() == first(sorted(made, less_sum), 10));
  EXPECT_TRUE(behind.order_by(by_k, [](int a, int b) { return b < a; }).to_vector() ==
              sorted(made, [](auto& a, auto& b) { return b.k < a.k; }));

  // Other verbs behind it.
  std::vector<sorted_item> large = by_two;
  std::erase_if(large, [](const sorted_item& r) { return r.d < 20; });
  EXPECT_TRUE(ordered.where([](auto r) { return r.d >= 20; }).to_vector() == large);
  const auto place = [&](std::ptrdiff_t i) { return by_two.begin() + std::min(i, std::ssize(by_two)); };
  EXPECT_TRUE(ordered.skip(3).take(5).to_vector() == std::vector<sorted_item>(place(3), place(8)));
  const auto kept_there = ordered.cached();
  EXPECT_TRUE(kept_there.to_vector() == by_two);
  EXPECT_TRUE(kept_there.to_vector() == by_two);
  EXPECT_TRUE(ordered.order_by(by_s).to_vector() == sorted(by_two, [](auto& a, auto& b) { return a.s < b.s; }));
  const auto groups = ordered.group_by(by_k).select([](auto g) {
    return query::make<sorted_made>(g.first(by_s), g.key(), g.last(by_d));
  }).as_ordered().to_vector();
  std::vector<sorted_made> expected;
  for (const sorted_item& r : by_two) {
    if (expected.empty() || expected.back().k != r.k) expected.push_back({r.s, r.k, r.d});
    expected.back().e = r.d;
  }
  EXPECT_TRUE(groups == expected);
}

void sorts_all(const Session& session, std::size_t n, bool little = false) {
  const sorted_input in(n);
  SCOPED_TRACE(n);
  {
    SCOPED_TRACE("columns");
    sorts(from(columns<sorted_item>(in.k, in.s, in.d)).in(session), in, little);
  }
  SCOPED_TRACE("records");
  sorts(from(in.rows).in(session), in, little);
}

TEST(sorted_columns, are_in_order) {
  for (const int threads : {1, 3})
    for (const int n : {0, 1, 5, 1000, 70'000, sanitized ? 70'001 : 150'000})
      sorts_all(Session({.threads = threads, .gpu = gpu_use::off}), static_cast<std::size_t>(n));
}

TEST(sorted_columns, are_in_order_in_little_memory) {
  const Session session({.threads = 2, .memory_limit = 40 << 20, .gpu = gpu_use::off});
  for (const int n : {1000, sanitized ? 60'000 : 200'000}) sorts_all(session, static_cast<std::size_t>(n), true);
}

TEST(sorted_columns, say_so) {
  const sorted_input in(100);
  const auto q = from(columns<sorted_item>(in.k, in.s, in.d)).in(Session({.threads = 2, .gpu = gpu_use::off}));
  const auto says = [](const std::string& plan) { return plan.find("over columns to columns") != std::string::npos; };
  EXPECT_TRUE(says(q.order_by(by_s).explain()));
  EXPECT_TRUE(says(from(in.rows).order_by(by_k).explain()));
  const auto numbers = q.select([](auto r) { return query::make<sorted_number>(r.d); }).order_by(by_d);
  EXPECT_TRUE(says(numbers.take(3).explain()));    // the keys alone are read of most rows
  EXPECT_FALSE(says(numbers.explain()));           // records of numbers are copied as fast
  EXPECT_TRUE(says(numbers.explain("to_columns")));
}

// Nulls, NaNs, extremes and equal keys, as records have them.
TEST(sorted_columns, of_awkward_keys) {
  const Session session({.threads = 3, .gpu = gpu_use::off});
  const std::size_t n = 5000;
  std::vector<std::int32_t> k(n, 7);
  std::vector<std::string> s(n, std::string(40, 'x'));
  std::vector<double> d;
  const double awkward[] = {std::numeric_limits<double>::quiet_NaN(), -0.0, 0.0, std::numeric_limits<double>::infinity(),
                            -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::denorm_min()};
  for (std::size_t i = 0; i < n; ++i) d.push_back(awkward[i * 7 % 6]);
  const auto q = from(columns<sorted_item>(k, s, d)).in(session);
  std::vector<std::int32_t> number;
  for (std::size_t i = 0; i < n; ++i) number.push_back(static_cast<std::int32_t>(i));
  const auto numbered = from(columns<sorted_item>(number, s, d)).in(session);
  const auto opaque_row = [](const sorted_item& r) { return r; };
  const auto of = [](const auto& rows) {
    std::vector<std::int32_t> v;
    for (const sorted_item& r : rows.to_vector()) v.push_back(r.k);
    return v;
  };
  EXPECT_EQ(of(numbered.order_by(by_d)), of(numbered.select(opaque_row).order_by(by_d)));
  EXPECT_EQ(of(numbered.order_by_descending(by_d)), of(numbered.select(opaque_row).order_by_descending(by_d)));
  EXPECT_EQ(of(numbered.order_by(by_s)), number);
  EXPECT_EQ(q.order_by(by_k).then_by(by_s).count(), static_cast<std::int64_t>(n));
  const auto optional_key = [](auto r) { return query::iff(r.k % 2 == 0, std::optional<double>(), std::optional<double>(r.d)); };
  EXPECT_EQ(of(numbered.order_by(optional_key)), of(numbered.select(opaque_row).order_by(optional_key)));
}

}  // namespace
}  // namespace query::tests
