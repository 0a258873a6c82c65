// What explain() and query::profile say of a run: rows, tasks, time, memory and files of each vertex.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <query/profile.hpp>
#include <query/query.hpp>

#include "runtime/run_profile.hpp"
#include "runtime/session_state.hpp"
#include "temp_folder.hpp"

namespace run_profile_test {

struct Sale {
  std::int64_t shop;
  std::int64_t price;
};
QUERY_RECORD(Sale, shop, price);
struct Takings {
  std::int64_t shop;
  std::int64_t sum;
};
QUERY_RECORD(Takings, shop, sum);

constexpr std::int64_t rows = 300'000, shops = 1000;

std::vector<Sale> sales() {
  std::vector<Sale> all;
  for (std::int64_t i = 0; i < rows; ++i) all.push_back({i * 7919 % shops, i});
  return all;
}
std::vector<Sale> one_of_each_shop() {
  std::vector<Sale> all;
  for (std::int64_t i = 0; i < shops; ++i) all.push_back({i, 2 * i});
  return all;
}

const query::vertex_profile& named(const query::run_profile& p, const std::string& name) {
  static const query::vertex_profile none;
  const auto v = std::find_if(p.vertices.begin(), p.vertices.end(), [&](const auto& x) { return x.name == name; });
  EXPECT_NE(v, p.vertices.end()) << "no vertex " << name;
  return v == p.vertices.end() ? none : *v;
}
void expect_rows(const query::vertex_profile& v, std::uint64_t in, std::uint64_t out) {
  EXPECT_EQ(v.rows_in, in) << v.name;
  EXPECT_EQ(v.rows_out, out) << v.name;
}
void expect_busy(const query::vertex_profile& v) {
  EXPECT_GT(v.morsels, 1u) << v.name;
  EXPECT_GT(v.seconds, 0) << v.name;
  EXPECT_GT(v.busy_share(), 0) << v.name;
  EXPECT_LE(v.busy_share(), 1) << v.name;
}

class run_profiles : public testing::Test {
 protected:
  const std::vector<Sale> all_ = sales();
  const query::Session session_{{.threads = 2, .memory_limit = std::size_t{1} << 30, .gpu = query::gpu_use::off}};
  auto from() const { return query::from(all_).in(session_); }
  static auto by_shop() { return [](auto s) { return s.shop; }; }
  static auto takings() {
    return [](auto g) { return query::make<Takings>(g.key(), g.sum([](auto s) { return s.price; })); };
  }
};

TEST_F(run_profiles, before_a_run_there_is_nothing) {
  const auto q = from().where([](auto s) { return s.price > 5; });
  EXPECT_TRUE(query::profile(q).empty());
  EXPECT_EQ(q.explain().find("ran in"), std::string::npos);
  EXPECT_EQ(q.explain_dot().find("ran in"), std::string::npos);
}

TEST_F(run_profiles, rows_of_groups_and_sorts) {
  const auto q = from().where([](auto s) { return s.price >= 1000; }).group_by(by_shop()).select(takings()).order_by([](auto t) {
    return t.sum;
  });
  (void)q.to_vector();
  const query::run_profile p = query::profile(q);
  ASSERT_EQ(p.vertices.size(), 3u);
  expect_rows(named(p, "v1 group_by"), rows, shops);
  expect_busy(named(p, "v1 group_by"));
  EXPECT_EQ(named(p, "v1 group_by").bytes_out, shops * sizeof(Takings));
  EXPECT_GT(named(p, "v1 group_by").peak_bytes, 0u);
  EXPECT_EQ(named(p, "v1 group_by").engine, "cpu");
  expect_rows(named(p, "v2 order_by"), shops, shops);
  expect_rows(named(p, "result"), shops, shops);
  expect_rows(p.total, rows, shops);
  EXPECT_EQ(p.total.threads, 2);
  double seconds = 0;
  for (const auto& v : p.vertices) seconds += v.seconds;
  EXPECT_LE(seconds, p.total.seconds * 1.001);
}

TEST_F(run_profiles, explain_shows_them_in_words) {
  const auto q = from().group_by(by_shop()).select(takings());
  (void)q.to_vector();
  const std::string text = q.explain();
  EXPECT_NE(text.find(": 300,000 rows in, 1,000 out, 16 KiB, 2 threads busy "), std::string::npos) << text;
  EXPECT_NE(text.find(" %, 5 morsels, peak "), std::string::npos) << text;
  EXPECT_NE(q.explain_dot().find(": 300,000 rows in, 1,000 out"), std::string::npos);
}

struct Measured {
  std::int64_t place;
  std::array<double, 100> values;
};
QUERY_RECORD(Measured, place, values);

// 5,000 rows of a hundred numbers are as much work as half a million rows of one.
TEST_F(run_profiles, few_wide_rows_are_for_all_threads) {
  std::vector<Measured> wide(5000);
  for (std::size_t i = 0; i < wide.size(); ++i) {
    wide[i].place = static_cast<std::int64_t>(i % 7);
    for (std::size_t j = 0; j < 100; ++j) wide[i].values[j] = 1.0 / static_cast<double>(1 + i * 100 + j);
  }
  const auto sums_with = [&](int threads, std::uint64_t& morsels) {
    const query::Session session{{.threads = threads, .gpu = query::gpu_use::off}};
    const auto q = query::from(wide).in(session).group_by([](auto m) { return m.place; }).select([](auto g) {
      return std::pair(g.key(), g.sum([](auto m) { return m.values; }));
    }).order_by([](auto s) { return s.first; });
    const auto all = q.to_vector();
    morsels = named(query::profile(q), "v1 group_by").morsels;
    return all;
  };
  std::uint64_t one = 0, three = 0;
  const auto sums = sums_with(1, one);
  EXPECT_EQ(sums_with(3, three), sums);  // to the last bit: parts do not depend on the threads
  EXPECT_EQ(one, three);
  EXPECT_GE(three, 3u);
}

TEST_F(run_profiles, of_the_verb_that_ran) {
  const auto q = from().where([](auto s) { return s.shop == 0; }).select([](auto s) { return s.price; });
  (void)q.sum();
  expect_rows(named(query::profile(q), "result"), rows, 1);
  EXPECT_NE(q.explain("sum").find("ran in"), std::string::npos);
  EXPECT_EQ(q.explain().find("ran in"), std::string::npos) << "another verb's result";
  (void)q.first();
  EXPECT_NE(q.explain("first").find("ran in"), std::string::npos) << q.explain("first");
  expect_rows(named(query::profile(q), "v1 first (take(1))"), 65'536, 1);
  (void)from().where([](auto s) { return s.shop == 0; }).count();
  expect_rows(named(query::profile(q), "v1 first (take(1))"), 65'536, 1);
}

TEST_F(run_profiles, a_vertex_that_another_verb_ran_is_shown_too) {
  const auto q = from().group_by(by_shop()).select(takings());
  (void)q.count();
  EXPECT_NE(q.explain().find("300,000 rows in, 1,000 out"), std::string::npos) << q.explain();
}

TEST_F(run_profiles, both_sides_of_a_join) {
  const auto few = one_of_each_shop();
  const auto q = from().join(query::from(few).in(session_).where([](auto s) { return s.shop < 500; }), by_shop(), by_shop(),
                             [](auto l, auto r) { return query::make<Sale>(l.price, r.price); });
  EXPECT_EQ(q.to_vector().size(), static_cast<std::size_t>(rows / 2));
  const query::run_profile p = query::profile(q);
  expect_rows(named(p, "v1 hash table of join"), shops, 500);
  expect_rows(named(p, "result"), rows, rows / 2);
  expect_rows(p.total, rows + shops, rows / 2);
}

TEST_F(run_profiles, loops_and_their_bodies) {
  const auto few = one_of_each_shop();
  const auto q = query::from(few).in(session_).do_while(
      [](query::Query<Sale> now) {
        return now.order_by([](auto s) { return s.price; }).select([](auto s) { return query::make<Sale>(s.shop, s.price + 1); });
      },
      query::times(3));
  (void)q.to_vector();
  const query::run_profile p = query::profile(q);
  const auto loop = std::find_if(p.vertices.begin(), p.vertices.end(), [](const auto& v) { return v.rounds > 0; });
  ASSERT_NE(loop, p.vertices.end());
  EXPECT_EQ(loop->rounds, 3u);
  expect_rows(*loop, shops, shops);
  const auto sort = std::find_if(p.vertices.begin(), p.vertices.end(), [](const auto& v) { return v.name.ends_with("order_by"); });
  ASSERT_NE(sort, p.vertices.end());
  expect_rows(*sort, 3 * shops, 3 * shops);
  EXPECT_NE(q.explain().find("3 rounds"), std::string::npos) << q.explain();
}

TEST_F(run_profiles, vertices_that_hand_rows_on) {
  const auto q = from().where([](auto s) { return s.price % 2 == 0; }).skip(100).take(5000);
  std::int64_t sum = 0;
  for (const Sale& s : q) sum += s.price;
  EXPECT_GT(sum, 0);
  const query::run_profile p = query::profile(q);
  expect_rows(named(p, "result"), 5000, 5000);
  const auto skip = std::find_if(p.vertices.begin(), p.vertices.end(), [](const auto& v) { return v.name.ends_with("skip(100)"); });
  ASSERT_NE(skip, p.vertices.end());
  EXPECT_GE(skip->rows_in, 10'200u);
  EXPECT_LT(skip->rows_in, static_cast<std::uint64_t>(rows)) << "no more than the reader wants";
  EXPECT_GE(skip->rows_out, 5000u);
}

TEST_F(run_profiles, rows_of_tables_and_generators) {
  const auto q = query::range(0, 200'000).in(session_).where([](auto i) { return i % 4 == 0; });
  EXPECT_EQ(q.count(), 50'000);
  expect_rows(named(query::profile(q), "result"), 200'000, 1);
  const auto as_it_is = from();
  (void)as_it_is.to_vector();
  expect_rows(named(query::profile(as_it_is), "result"), rows, rows);
}

TEST(run_profiles_of_little_memory, tell_what_went_to_files) {
  const query::tests::temp_folder at("run_profile");
  const query::Session session({.threads = 2, .memory_limit = 4u << 20, .temp_folder = at.name(), .gpu = query::gpu_use::off});
  const auto all = sales();
  const auto check = [&](const auto& q, const std::string& name, std::uint64_t out) {
    std::uint64_t n = 0;
    q.for_each([&](const auto&) { ++n; });
    EXPECT_EQ(n, out);
    const query::run_profile p = query::profile(q);
    const query::vertex_profile& v = named(p, name);
    expect_rows(v, rows, out);
    expect_busy(v);
    EXPECT_GT(v.spilled_bytes, 0u) << q.explain();
    EXPECT_GT(v.peak_bytes, std::size_t{1} << 20);
    EXPECT_LE(v.peak_bytes, std::size_t{4} << 20);
    EXPECT_EQ(p.total.spilled_bytes, v.spilled_bytes);
    EXPECT_NE(q.explain().find("written to temporary files"), std::string::npos) << q.explain();
  };
  const auto from = [&] { return query::from(all).in(session); };
  check(from().where([](auto s) { return s.price >= 0; }).order_by([](auto s) { return s.shop; }), "v1 order_by", rows);
  check(from().group_by([](auto s) { return s.price; }).select([](auto g) {
    return query::make<Takings>(g.key(), g.sum([](auto s) { return s.shop; }));
  }), "v1 group_by", rows);
}

TEST(run_profiles_of_little_memory, know_both_sides_of_a_join) {
  const query::tests::temp_folder at("run_profile_join");
  const query::Session session({.threads = 2, .memory_limit = 6u << 20, .temp_folder = at.name(), .gpu = query::gpu_use::off});
  const auto all = sales();
  const auto price = [](auto s) { return s.price; };
  const auto q = query::from(all).in(session).join(query::from(all).in(session).where([](auto s) { return s.price >= 100; }), price, price,
                                                   [](auto l, auto r) { return query::make<Sale>(l.shop, r.price); });
  std::uint64_t n = 0;
  q.for_each([&](const auto&) { ++n; });
  EXPECT_EQ(n, rows - 100u);
  const query::run_profile p = query::profile(q);
  expect_rows(named(p, "v1 hash table of join"), rows, rows - 100);
  EXPECT_GT(p.total.spilled_bytes, 0u) << q.explain();
  EXPECT_EQ(named(p, "result").rows_out, rows - 100u);
}

TEST_F(run_profiles, of_a_run_that_failed) {
  const auto q = from().group_by(by_shop()).select(takings()).order_by([](const Takings& t) -> std::int64_t {
    if (t.shop == 7) throw std::runtime_error("shop 7");
    return t.sum;
  });
  EXPECT_THROW((void)q.to_vector(), std::runtime_error);
  const query::run_profile p = query::profile(q);
  ASSERT_EQ(p.vertices.size(), 2u) << "the result was not reached";
  expect_rows(named(p, "v1 group_by"), rows, shops);
  EXPECT_EQ(named(p, "v2 order_by").rows_out, 0u);
  EXPECT_GT(p.total.seconds, 0);
}

TEST_F(run_profiles, of_two_threads_with_one_query) {
  const auto q = from().group_by(by_shop()).select(takings());
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k) {
        (void)q.to_vector();
        const query::run_profile p = query::profile(q);
        expect_rows(named(p, "v1 group_by"), rows, shops);
        EXPECT_FALSE(q.explain().empty());
      }
    });
  for (std::thread& t : threads) t.join();
}

TEST_F(run_profiles, time_between_rows_is_the_readers) {
  const auto q = from().where([](auto s) { return s.price < 10; });
  for (const Sale& s : q)
    if (s.price == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const query::run_profile p = query::profile(q);
  EXPECT_GE(p.total.seconds, 0.3);
  EXPECT_LT(named(p, "result").seconds, p.total.seconds - 0.2);
}

TEST_F(run_profiles, many_queries_push_old_ones_out) {
  const auto old = from().where([](auto s) { return s.price < 10; });
  (void)old.count();
  EXPECT_FALSE(query::profile(old).empty());
  std::vector<query::Query<Sale>> others;
  for (std::size_t i = 0; i < query::runtime::kept_profiles::most; ++i) {
    others.push_back(from().take(3));
    (void)others.back().to_vector();
  }
  EXPECT_TRUE(query::profile(old).empty());
  EXPECT_FALSE(query::profile(others.front()).empty());
}

TEST_F(run_profiles, uncounted_where_the_session_says_so) {
  session_.state()->history.keeps_profiles = false;
  const auto q = from().where([](auto s) { return s.price < 10; });
  EXPECT_EQ(q.count(), 10);
  EXPECT_TRUE(query::profile(q).empty());
}

TEST(readable, numbers) {
  using namespace query::runtime;
  EXPECT_EQ(readable_count(0), "0");
  EXPECT_EQ(readable_count(999), "999");
  EXPECT_EQ(readable_count(1000), "1,000");
  EXPECT_EQ(readable_count(1234567), "1,234,567");
  EXPECT_EQ(readable_bytes(1), "1 byte");
  EXPECT_EQ(readable_bytes(1023), "1023 bytes");
  EXPECT_EQ(readable_bytes(3355443), "3.2 MiB");
  EXPECT_EQ(readable_bytes(std::uint64_t{14} << 20), "14 MiB");
  EXPECT_EQ(readable_seconds(12.3e-3), "12.3 ms");
  EXPECT_EQ(readable_seconds(4e-6), "4 us");
  EXPECT_EQ(readable_seconds(2.5), "2.50 s");
}

}  // namespace run_profile_test
