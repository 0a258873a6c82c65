// Whole queries on plain threads, several user threads on one session: what ThreadSanitizer looks at. (Debian's oneTBB gives false
// races and hides true ones, see tests/tsan.supp: the session gets a scheduler of std::thread.)
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <query/profile.hpp>
#include <query/query.hpp>

#include "runtime/session_state.hpp"
#include "runtime/thread_pool.hpp"

namespace queries_concurrency_test {

struct Fill {
  std::int32_t id = 0, symbol = 0;
  double price = 0;
};
QUERY_RECORD(Fill, id, symbol, price);

constexpr std::int32_t rows = 200'000, symbols = 1000;  // four parts of 64 Ki rows

const std::vector<Fill>& fills() {
  static const std::vector<Fill> all = [] {
    std::vector<Fill> f;
    for (std::int32_t i = 0; i < rows; ++i) f.push_back({i, i % symbols, static_cast<double>(i * 7919LL % rows)});
    return f;
  }();
  return all;
}
query::Session session_of_threads() {
  query::Session s({.threads = 1});
  s.state()->scheduler = std::make_unique<query::runtime::thread_pool>(4);
  return s;
}
auto fills_in(const query::Session& s) { return query::from(fills()).in(s); }

const auto symbol = [](auto f) { return f.symbol; };

void check_queries(const query::Session& s) {
  const auto all = fills_in(s);
  EXPECT_EQ(all.where([](auto f) { return f.id % 2 == 0; }).select([](auto f) { return f.id; }).sum(),
            std::int64_t{rows / 2} * (rows / 2 - 1));
  EXPECT_EQ(all.where(query::opaque([](const Fill& f) { return f.id % 2 == 0; })).to_vector().size(), rows / 2u);
  EXPECT_EQ(all.group_by(symbol).select([](auto g) { return std::pair(g.key(), g.sum([](auto f) { return f.price; })); }).count(), symbols);
  const auto joined = all.join(query::from(fills()).take(symbols), symbol, symbol, [](auto l, auto r) { return l.id - r.id; });
  EXPECT_EQ(joined.count(), rows);
  const auto sorted = all.order_by([](auto f) { return f.price; }).select([](auto f) { return f.price; }).to_vector();
  ASSERT_EQ(sorted.size(), static_cast<std::size_t>(rows));
  EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
  std::int32_t read = 0;
  for (const auto& f : all.where([](auto f) { return f.id >= 0; })) {
    if (f.id != read++) ADD_FAILURE() << f.id;
    if (read == 100'000) break;
  }
}

TEST(queries, run_on_several_threads) { check_queries(session_of_threads()); }

TEST(queries, of_several_user_threads_share_a_session) {
  const query::Session s = session_of_threads();
  std::vector<std::jthread> users;
  for (int i = 0; i < 3; ++i) users.emplace_back([&] { check_queries(s); });
}

// Each refines the order that all have, and then what came of it.
TEST(queries, of_one_order_are_refined_by_several_threads) {
  const auto by_symbol = query::from(fills()).take(symbols).order_by([](auto f) { return f.symbol % 2; });
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (std::int32_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      auto q = by_symbol;
      for (int i = 0; i < 100; ++i) {
        q = by_symbol.then_by([t](auto f) { return f.id / 2 % (t + 2); });
        q = q.then_by_descending([](auto f) { return f.id; });
      }
      const auto sorted = q.to_vector();
      const auto key = [t](const Fill& f) { return std::tuple(f.symbol % 2, f.id / 2 % (t + 2), -f.id); };
      right += std::is_sorted(sorted.begin(), sorted.end(), [&](const Fill& a, const Fill& b) { return key(a) < key(b); });
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 4);
}

TEST(queries, share_cached_rows) {
  const query::Session s = session_of_threads();
  std::atomic<int> calls = 0;
  const auto kept = fills_in(s).select([&](const Fill& f) { return ++calls, f.symbol; }).cached();
  {
    std::vector<std::jthread> users;
    for (int i = 0; i < 4; ++i)
      users.emplace_back([&] { EXPECT_EQ(kept.where([](auto x) { return x < 10; }).count(), rows / symbols * 10); });
  }
  EXPECT_EQ(calls, rows);
}

// Whichever of them makes the rows: those that are not stopped get them all.
TEST(queries, that_are_stopped_leave_cached_rows_to_the_others) {
  const query::Session s = session_of_threads();
  std::stop_source stop;
  const auto kept = fills_in(s).select([&](const Fill& f) {
    if (f.id == 1000) stop.request_stop();
    return f.symbol;
  }).cached();
  const auto few = kept.where([](auto x) { return x < 10; });
  std::vector<std::jthread> users;
  for (int i = 0; i < 4; ++i)
    users.emplace_back([&, i] {
      try {
        EXPECT_EQ((i % 2 ? few : few.stop_on(stop.get_token())).count(), rows / symbols * 10);
      } catch (const query::cancelled&) {
        EXPECT_EQ(i % 2, 0);
      }
    });
}

TEST(queries, over_columns_run_on_several_threads) {
  const query::Session s = session_of_threads();
  std::vector<std::int32_t> id, symbols_of;
  std::vector<double> price;
  for (const Fill& f : fills()) {
    id.push_back(f.id);
    symbols_of.push_back(f.symbol);
    price.push_back(f.price);
  }
  const auto dear = query::from(query::columns<Fill>(id, symbols_of, price)).in(s).where([](auto f) { return f.symbol < 10; });
  std::vector<std::jthread> users;
  for (int i = 0; i < 4; ++i) users.emplace_back([&] { EXPECT_EQ(dear.count(), rows / symbols * 10); });
}

TEST(queries, are_profiled_while_others_run) {
  const query::Session s = session_of_threads();
  const auto q = fills_in(s).group_by(symbol).select([](auto g) { return std::pair(g.key(), g.count()); });
  std::vector<std::jthread> users;
  for (int i = 0; i < 4; ++i)
    users.emplace_back([&, i] {
      for (int k = 0; k < 10; ++k) {
        if (i % 2) EXPECT_EQ(q.to_vector().size(), static_cast<std::size_t>(symbols));
        else EXPECT_EQ(q.count(), symbols);
        const query::run_profile p = query::profile(q);
        ASSERT_FALSE(p.empty());
        EXPECT_EQ(p.vertices.front().rows_in, static_cast<std::uint64_t>(rows));
        EXPECT_EQ(p.vertices.front().rows_out, static_cast<std::uint64_t>(symbols));
        EXPECT_NE(q.explain().find("200,000 rows in, 1,000 out"), std::string::npos);
      }
    });
}

TEST(queries, are_stopped_by_other_threads) {
  const query::Session s = session_of_threads();
  std::vector<std::jthread> users;
  for (int i = 0; i < 4; ++i)
    users.emplace_back([&, i] {
      std::stop_source stop;
      std::atomic<int> calls = 0;
      const auto slow = [&](const Fill& f) {
        if (++calls == 100) stop.request_stop();
        return f.price;
      };
      const auto endless = query::generate([n = std::int64_t{0}]() mutable { return std::optional(n++); }).in(s);
      if (i % 2) {
        EXPECT_THROW(fills_in(s).stop_on(stop.get_token()).group_by(slow).count().to_vector(), query::cancelled);
      } else {
        EXPECT_THROW(endless.timeout(0.1).where([](auto x) { return x < 0; }).count(), query::cancelled);
      }
    });
}

}  // namespace queries_concurrency_test
