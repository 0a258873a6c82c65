// Verbs on whole tables through the public API: slices, sets, combinations, runs, partitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <query/query.hpp>

namespace query::tests {
namespace {

std::vector<int> numbers_to(std::size_t n) {
  std::vector<int> v(n);
  std::iota(v.begin(), v.end(), 0);
  return v;
}
std::vector<std::string> words(std::size_t n, std::size_t different) {
  std::mt19937 random(11);
  std::vector<std::string> v;
  for (std::size_t i = 0; i < n; ++i) v.push_back("a word that needs memory of its own: " + std::to_string(random() % different));
  return v;
}
template <class T> std::vector<T> part(const std::vector<T>& v, std::size_t from, std::size_t to) {
  return {v.begin() + static_cast<std::ptrdiff_t>(std::min(from, v.size())),
          v.begin() + static_cast<std::ptrdiff_t>(std::min(to, v.size()))};
}
constexpr auto odd = [](const auto& x) { return x % 2 == 1; };

class slices : public ::testing::TestWithParam<std::size_t> {
 protected:
  std::vector<int> rows = numbers_to(GetParam());
  std::vector<int> odds = [this] {
    std::vector<int> v;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(v), odd);
    return v;
  }();
};

TEST_P(slices, take_and_skip_of_a_table_and_of_a_filter) {
  for (const std::size_t n : {0u, 1u, 1000u, 70000u, 1000000u}) {
    EXPECT_EQ(from(rows).take(n).to_vector(), part(rows, 0, n));
    EXPECT_EQ(from(rows).skip(n).to_vector(), part(rows, n, rows.size()));
    EXPECT_EQ(from(rows).where(odd).take(n).to_vector(), part(odds, 0, n));
    EXPECT_EQ(from(rows).where(odd).skip(n).to_vector(), part(odds, n, odds.size()));
    EXPECT_EQ(from(rows).skip(n).take(5).to_vector(), part(rows, n, n + 5));
    EXPECT_EQ(from(rows).where(odd).skip(n).take(5).to_vector(), part(odds, n, n + 5));
  }
}

TEST_P(slices, take_last_and_skip_last) {
  for (const std::size_t n : {0u, 1u, 1000u, 70000u, 1000000u}) {
    EXPECT_EQ(from(rows).take_last(n).to_vector(), part(rows, rows.size() - std::min(n, rows.size()), rows.size()));
    EXPECT_EQ(from(rows).where(odd).take_last(n).to_vector(), part(odds, odds.size() - std::min(n, odds.size()), odds.size()));
    EXPECT_EQ(from(rows).skip_last(n).to_vector(), part(rows, 0, rows.size() - std::min(n, rows.size())));
    EXPECT_EQ(from(rows).where(odd).skip_last(n).to_vector(), part(odds, 0, odds.size() - std::min(n, odds.size())));
  }
}

TEST_P(slices, take_while_and_skip_while) {
  for (const int n : {0, 1, 1500, 70001, 1000000}) {
    const auto below = [n](const auto& x) { return x < n; };
    const auto at = static_cast<std::size_t>(n);
    EXPECT_EQ(from(rows).take_while(below).to_vector(), part(rows, 0, at));
    EXPECT_EQ(from(rows).skip_while(below).to_vector(), part(rows, at, rows.size()));
    EXPECT_EQ(from(rows).where(odd).take_while(below).to_vector(), part(odds, 0, at / 2));
    EXPECT_EQ(from(rows).where(odd).skip_while(below).to_vector(), part(odds, at / 2, odds.size()));
  }
}

TEST_P(slices, reverse_and_sample) {
  EXPECT_EQ(from(rows).reverse().to_vector(), std::vector<int>(rows.rbegin(), rows.rend()));
  EXPECT_EQ(from(rows).where(odd).reverse().to_vector(), std::vector<int>(odds.rbegin(), odds.rend()));
  const auto drawn = from(rows).sample(100, 3).to_vector();
  EXPECT_EQ(drawn.size(), std::min<std::size_t>(100, rows.size()));
  EXPECT_TRUE(std::is_sorted(drawn.begin(), drawn.end()));
  EXPECT_EQ(std::set<int>(drawn.begin(), drawn.end()).size(), drawn.size());
  EXPECT_EQ(from(rows).sample(100, 3).to_vector(), drawn);
  if (rows.size() > 1000) {
    EXPECT_NE(from(rows).sample(100, 4).to_vector(), drawn);
  }
}

INSTANTIATE_TEST_SUITE_P(rows, slices, ::testing::Values(std::size_t{0}, std::size_t{1}, std::size_t{5000}, std::size_t{300000}));

TEST(endless_source, take_and_take_while_end_it) {
  const auto naturals = [] {
    return generate([n = std::int64_t{0}]() mutable { return std::optional<std::int64_t>(n++); });
  };
  EXPECT_EQ(naturals().take(3).to_vector(), (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(naturals().where([](const auto& x) { return x % 1000 == 0; }).take(200).to_vector().back(), 199000);
  EXPECT_EQ(naturals().take_while([](const auto& x) { return x < 200000; }).to_vector().size(), 200000u);
  const std::vector<int> some{7, 8, 9};
  EXPECT_EQ(from(some).zip(naturals(), [](int a, std::int64_t b) { return a * 10 + b; }).to_vector(),
            (std::vector<std::int64_t>{70, 81, 92}));
  EXPECT_EQ(naturals().zip(from(some), [](std::int64_t a, int b) { return a + b; }).to_vector(), (std::vector<std::int64_t>{7, 9, 11}));
}

TEST(errors, after_the_end_of_a_prefix_are_not_met) {
  const auto rows = numbers_to(300000);
  const auto careful = [](const int& x) {
    if (x > 100) throw std::runtime_error("too far");
    return x < 100;
  };
  EXPECT_EQ(from(rows).take_while(careful).to_vector().size(), 100u);
  EXPECT_EQ(from(rows).skip_while(careful).to_vector().size(), 300000u - 100u);
  const auto late = [](const int& x) {
    if (x > 200000) throw std::runtime_error("too far");
    return true;
  };
  EXPECT_EQ(from(rows).where(late).take(70000).to_vector().size(), 70000u);
  EXPECT_THROW((void)from(rows).where(late).take(250000).to_vector(), std::runtime_error);
  EXPECT_THROW((void)from(rows).take_while(late).to_vector(), std::runtime_error);
}

TEST(sets, distinct_keeps_the_first_of_each_key_in_order) {
  for (const std::size_t different : {1u, 50u, 5000u, 1000000u})
    for (const std::size_t n : {0u, 10u, 100000u, 400000u}) {
      std::mt19937 random(5);
      std::vector<std::pair<int, int>> rows;
      for (std::size_t i = 0; i < n; ++i) rows.emplace_back(static_cast<int>(random() % different), static_cast<int>(i));
      std::vector<std::pair<int, int>> expected;
      std::vector<bool> seen(different);
      for (const auto& r : rows) {
        if (!seen[static_cast<std::size_t>(r.first)]) expected.push_back(r);
        seen[static_cast<std::size_t>(r.first)] = true;
      }
      EXPECT_EQ(from(rows).distinct_by([](const auto& r) { return r.first; }).as_ordered().to_vector(), expected)
          << n << " rows, " << different;
    }
}

TEST(sets, distinct_of_strings) {
  for (const std::size_t n : {1000u, 200000u}) {
    const auto rows = words(n, n / 3);
    const std::set<std::string> expected(rows.begin(), rows.end());
    const auto got = from(rows).distinct().to_vector();
    EXPECT_EQ(got.size(), expected.size());
    EXPECT_EQ(std::set<std::string>(got.begin(), got.end()), expected);
  }
}

TEST(sets, distinct_with_the_users_own_equality) {
  const std::vector<std::string> rows{"Hut", "hut", "Haus", "HUT", "haus"};
  const auto lower = [](std::string s) {
    for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return s;
  };
  const auto got = from(rows)
                       .distinct_by([](const std::string& s) { return s; },
                                    [=](const std::string& a, const std::string& b) { return lower(a) == lower(b); },
                                    [=](const std::string& a) { return std::hash<std::string>()(lower(a)); })
                       .to_vector();
  EXPECT_EQ(got, (std::vector<std::string>{"Hut", "Haus"}));
}

TEST(sets, union_intersect_and_except) {
  const std::vector<int> a{5, 1, 1, 7, 3, 5}, b{3, 9, 5, 9};
  EXPECT_EQ(from(a).union_with(from(b)).as_ordered().to_vector(), (std::vector<int>{5, 1, 7, 3, 9}));
  EXPECT_EQ(from(a).intersect(from(b)).as_ordered().to_vector(), (std::vector<int>{5, 3}));
  EXPECT_EQ(from(a).except(from(b)).as_ordered().to_vector(), (std::vector<int>{1, 7}));
  EXPECT_EQ(from(a).except(from(std::vector<int>{})).as_ordered().to_vector(), (std::vector<int>{5, 1, 7, 3}));
  EXPECT_EQ(from(a).union_with_by(from(b), [](const auto& x) { return x % 2; }).to_vector(), (std::vector<int>{5}));
}

TEST(sets, a_null_equals_a_null) {
  using maybe = std::optional<int>;
  const std::vector<maybe> a{1, std::nullopt, 2, std::nullopt}, b{std::nullopt, 2};
  EXPECT_EQ(from(a).distinct().as_ordered().to_vector(), (std::vector<maybe>{1, std::nullopt, 2}));
  EXPECT_EQ(from(a).intersect(from(b)).as_ordered().to_vector(), (std::vector<maybe>{std::nullopt, 2}));
  EXPECT_EQ(from(a).except(from(b)).as_ordered().to_vector(), (std::vector<maybe>{1}));
}

TEST(sets, large_inputs_with_filters) {
  const auto rows = words(300000, 100000);
  const auto other = words(50000, 70000);
  const std::set<std::string> in_other(other.begin(), other.end());
  std::set<std::string> seen;
  std::vector<std::string> both, only;
  for (const auto& w : rows) {
    if (w.back() == '7' || !seen.insert(w).second) continue;
    (in_other.count(w) ? both : only).push_back(w);
  }
  const auto kept = from(rows).where([](const std::string& w) { return w.back() != '7'; });
  EXPECT_EQ(kept.intersect(from(other)).as_ordered().to_vector(), both);
  EXPECT_EQ(kept.except(from(other)).as_ordered().to_vector(), only);
  std::set<std::string> all(in_other);
  for (const auto& w : seen) all.insert(w);
  EXPECT_EQ(kept.union_with(from(other)).count(), static_cast<std::int64_t>(all.size()));
}

TEST(combine, concat_append_prepend_and_default_if_empty) {
  const auto a = words(100000, 500), b = words(3, 3);
  auto all = a;
  all.insert(all.end(), b.begin(), b.end());
  EXPECT_EQ(from(a).concat(from(b)).to_vector(), all);
  EXPECT_EQ(from(a).where([](const std::string&) { return true; }).concat(from(b)).append("z").prepend("y").count(), 100005);
  EXPECT_EQ(from(b).append("z").to_vector().back(), "z");
  EXPECT_EQ(from(b).prepend("y").to_vector().front(), "y");
  EXPECT_EQ(from(std::vector<int>{}).default_if_empty(4).to_vector(), (std::vector<int>{4}));
  EXPECT_EQ(from(std::vector<int>{1}).default_if_empty(4).to_vector(), (std::vector<int>{1}));
}

TEST(combine, zip_is_as_long_as_the_shorter) {
  const auto a = numbers_to(200000);
  const auto b = words(150000, 1000);
  const auto rows = from(a).zip(from(b)).to_vector();
  ASSERT_EQ(rows.size(), b.size());
  for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], std::pair(a[i], b[i]));
  EXPECT_EQ(from(a).where(odd).zip(from(b), [](int x, const std::string&) { return x; }).to_vector().back(), 199999);
}

TEST(runs, chunk_and_window) {
  const auto rows = numbers_to(100);
  const auto chunks = from(rows).chunk(30).to_vector();
  ASSERT_EQ(chunks.size(), 4u);
  EXPECT_EQ(chunks[3], part(rows, 90, 100));
  const auto sum = [](std::span<const int> r) { return std::accumulate(r.begin(), r.end(), 0); };
  EXPECT_EQ(from(rows).window(98, sum).to_vector(), (std::vector<int>{4753, 4851, 4949}));
  EXPECT_EQ(from(rows).window(10, sum, 45).to_vector(), (std::vector<int>{45, 495, 945}));
  EXPECT_EQ(from(rows).window(101, sum).count(), 0);
  EXPECT_EQ(from(numbers_to(300000)).window(3, sum).count(), 299998);
  // Lists are counted without one of them.
  EXPECT_EQ(from(numbers_to(300000)).window(3).count(), 299998);
  EXPECT_EQ(from(rows).window(101).count(), 0);
  EXPECT_NE(from(rows).window(3).explain("count").find("skip(2)"), std::string::npos);
  EXPECT_EQ(from(numbers_to(300000)).chunk(7, sum).count(), 42858);
  EXPECT_THROW((void)from(rows).chunk(0).count(), user_error);
}

TEST(runs, apply_without_partitions_covers_all_rows_in_order) {
  const auto rows = numbers_to(300000);
  const auto same = [](std::span<const int> r) { return std::vector<int>(r.begin(), r.end()); };
  EXPECT_EQ(from(rows).apply(same).to_vector(), rows);
  const auto size = [](std::span<const int> r) { return r.size(); };
  EXPECT_EQ(from(rows).apply_all(size).to_vector(), (std::vector<std::size_t>{300000}));
  EXPECT_EQ(from(std::vector<int>{}).apply_all(size).to_vector(), (std::vector<std::size_t>{0}));
}

TEST(partitions, by_hash_keep_keys_together_and_rows_in_order) {
  const auto rows = numbers_to(200000);
  const auto key = [](const auto& x) { return x % 100; };
  const auto sorted_and_keys = [](std::span<const int> r) {
    std::set<int> keys;
    for (int x : r) keys.insert(x % 100);
    return std::tuple(r.size(), keys.size(), std::is_sorted(r.begin(), r.end()));
  };
  const auto parts = from(rows).hash_partitioned_by(key, 8).apply(sorted_and_keys).to_vector();
  ASSERT_EQ(parts.size(), 8u);
  std::size_t n = 0, keys = 0;
  for (const auto& [size, k, sorted] : parts) {
    n += size;
    keys += k;
    EXPECT_TRUE(sorted);
  }
  EXPECT_EQ(n, rows.size());
  EXPECT_EQ(keys, 100u);
}

TEST(partitions, by_range_follow_the_order_of_the_keys) {
  std::vector<int> rows = numbers_to(100000);
  std::mt19937 random(3);
  for (int& x : rows) x = static_cast<int>(random() % 37);
  const auto bounds = [](std::span<const int> r) {
    return std::pair(*std::min_element(r.begin(), r.end()), *std::max_element(r.begin(), r.end()));
  };
  const auto parts = from(rows).range_partitioned_by([](const auto& x) { return x; }, 5).apply(bounds).to_vector();
  ASSERT_EQ(parts.size(), 5u);
  EXPECT_EQ(parts.front().first, 0);
  EXPECT_EQ(parts.back().second, 36);
  for (std::size_t i = 1; i < parts.size(); ++i) EXPECT_LT(parts[i - 1].second, parts[i].first);
}

TEST(partitions, by_position_are_even_and_an_unnamed_number_leaves_out_empty_ones) {
  const auto size = [](std::span<const int> r) { return r.size(); };
  EXPECT_EQ(from(numbers_to(10)).partitioned(4).apply(size).to_vector(), (std::vector<std::size_t>{3, 3, 2, 2}));
  EXPECT_EQ(from(std::vector<int>{}).partitioned(2).apply(size).to_vector(), (std::vector<std::size_t>{0, 0}));
  const auto sizes = from(numbers_to(1000)).hash_partitioned_by([](const auto& x) { return x % 3; }).apply(size).to_vector();
  EXPECT_LE(sizes.size(), 3u);
  EXPECT_EQ(std::count(sizes.begin(), sizes.end(), 0u), 0);
  // A slice of partitioned rows is no longer partitioned.
  EXPECT_EQ(from(numbers_to(10)).partitioned(4).take(9).apply(size).to_vector(), (std::vector<std::size_t>{9}));
}

TEST(table_verbs, do_not_depend_on_the_number_of_threads) {
  session_options options;
  options.threads = 1;
  const Session one(options);
  options.threads = 4;
  const Session four(options);
  const auto rows = words(300000, 40000);
  const auto run = [&](const Session& s) {
    return from(rows)
        .in(s)
        .where([](const std::string& w) { return w.back() != '3'; })
        .distinct()
        .concat(from(rows).take(10))
        .hash_partitioned_by([](const auto& w) { return w; }, 6)
        .apply([](std::span<const std::string> r) { return std::vector<std::string>(r.begin(), r.end()); })
        .to_vector();
  };
  EXPECT_EQ(run(one), run(four));
}

TEST(table_verbs, stop_when_cancelled) {
  struct stop_after {
    std::shared_ptr<std::atomic<bool>> stop;
    bool stop_requested() const { return stop->load(); }
  };
  const auto stop = std::make_shared<std::atomic<bool>>(false);
  auto endless = generate([n = std::int64_t{0}, stop]() mutable {
    if (n == 500000) stop->store(true);
    return std::optional<std::int64_t>(n++);
  });
  EXPECT_THROW((void)endless.stop_on(stop_after{stop}).distinct().count(), cancelled);
}

}  // namespace
}  // namespace query::tests
