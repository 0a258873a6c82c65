// group_by with more groups than fit tables a part: calls of the user's functions, answers, sums, for one thread and for many.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <query/query.hpp>

namespace query::tests {

struct Visit {
  std::int64_t id;
  int page;
  std::string visitor;
  double seconds;
};
QUERY_RECORD(Visit, id, page, visitor, seconds);

namespace {

constexpr std::int64_t n = 100'000, pages = 50'000;

const std::vector<Visit>& visits() {
  static const std::vector<Visit> rows = [] {
    std::vector<Visit> v;
    for (std::int64_t i = 0; i < n; ++i) {
      // All kinds of order: the first part sees most pages, later rows see old and new ones.
      const auto page = static_cast<int>(i * 7919 % pages);
      v.push_back({i, page, "a visitor with a long name, number " + std::to_string(i % 60'000), 1.0 / static_cast<double>(i % 977 + 1)});
    }
    return v;
  }();
  return rows;
}

std::vector<std::atomic<std::uint8_t>> calls(n);  // by row
template <class F> auto counted(F f) {
  return query::opaque([f](const Visit& v) {
    calls[static_cast<std::size_t>(v.id)].fetch_add(1, std::memory_order_relaxed);
    return f(v);
  });
}
template <class Run> void expect_one_call_a_row(const char* what, Run run) {
  SCOPED_TRACE(what);
  for (auto& c : calls) c = 0;
  run();
  EXPECT_EQ(std::count_if(calls.begin(), calls.end(), [](const auto& c) { return c == 1; }), n);
}
template <class Run> void on_one_and_eight_threads(Run run) {
  for (const bool interpret : {false, true})
    for (const int threads : {1, 8}) {
      SCOPED_TRACE(std::to_string(threads) + (interpret ? " threads, interpreted" : " threads"));
      run(query::from(visits()).in(query::Session({.threads = threads, .interpret = interpret})));
    }
}

TEST(many_groups, key_functions_run_once_a_row) {
  on_one_and_eight_threads([](auto q) {
    expect_one_call_a_row("a key a row", [&] {
      EXPECT_EQ(q.group_by(counted([](const Visit& v) { return v.id; })).count().to_vector().size(), n);
    });
    expect_one_call_a_row("int", [&] {
      EXPECT_EQ(q.group_by(counted([](const Visit& v) { return v.page; })).count().to_vector().size(), pages);
    });
    expect_one_call_a_row("string", [&] {
      EXPECT_EQ(q.count_by(counted([](const Visit& v) { return v.visitor; })).to_vector().size(), 60'000u);
    });
    expect_one_call_a_row("composite", [&] {
      EXPECT_EQ(q.count_by(counted([](const Visit& v) { return std::tuple(v.page, v.visitor); })).to_vector().size(), n);
    });
    expect_one_call_a_row("ordered", [&] { q.group_by(counted([](const Visit& v) { return v.page; })).count().as_ordered().to_vector(); });
    expect_one_call_a_row("own equality", [&] {
      const auto hash = [](int a) { return static_cast<std::size_t>(a); };
      q.count_by(counted([](const Visit& v) { return v.page; }), [](int a, int b) { return a == b; }, hash).to_vector();
    });
    expect_one_call_a_row("rows kept", [&] { q.group_by(counted([](const Visit& v) { return v.page; })).to_vector(); });
    expect_one_call_a_row("lookup", [&] { q.to_lookup(counted([](const Visit& v) { return v.page; })); });
    expect_one_call_a_row("distinct_by", [&] { q.distinct_by(counted([](const Visit& v) { return v.page; })).to_vector(); });
  });
}

TEST(many_groups, functions_before_and_within_run_once_a_row) {
  on_one_and_eight_threads([](auto q) {
    const auto page = [](auto v) { return v.page; };
    const auto all = counted([](const Visit& v) { return v.page >= 0; });
    const auto same = counted([](const Visit& v) { return v; });
    expect_one_call_a_row("where", [&] { q.where(all).group_by(page).count().to_vector(); });
    expect_one_call_a_row("select", [&] { q.select(same).group_by(page).count().to_vector(); });
    expect_one_call_a_row("where, select", [&] { q.where([](auto v) { return v.id >= 0; }).select(same).count_by(page).to_vector(); });
    expect_one_call_a_row("select, rows kept", [&] { q.select(same).group_by(page).to_vector(); });
    const auto seconds = counted([](const Visit& v) { return v.seconds; });
    expect_one_call_a_row("sum", [&] { q.group_by(page).select([seconds](auto g) { return g.sum(seconds); }).to_vector(); });
    expect_one_call_a_row("median", [&] { q.group_by(page).select([seconds](auto g) { return g.median(seconds); }).to_vector(); });
    expect_one_call_a_row("aggregate_by", [&] {
      const auto update = [](double s, const Visit& v) {
        calls[static_cast<std::size_t>(v.id)].fetch_add(1, std::memory_order_relaxed);
        return s + v.seconds;
      };
      q.aggregate_by(page, 0.0, update, [](double a, double b) { return a + b; }).to_vector();
    });
  });
}

TEST(many_groups, answers_are_those_of_a_loop) {
  std::map<std::string, std::tuple<std::int64_t, double, std::int64_t, std::int64_t>> wanted;  // count, longest, first and last id
  for (const Visit& v : visits()) {
    if (v.page % 10 == 0) continue;
    auto& [count, longest, first, last] = wanted.try_emplace(v.visitor, 0, 0.0, v.id, v.id).first->second;
    ++count;
    longest = std::max(longest, v.seconds);
    last = v.id;
  }
  on_one_and_eight_threads([&](auto q) {
    const auto check = [&](auto key) {
      const auto rows = q.where([](auto v) { return v.page % 10 != 0; }).group_by(key).select([](auto g) {
        const auto id = [](auto v) { return v.id; };
        return std::tuple(g.key(), g.count(), g.max([](auto v) { return v.seconds; }), g.first(id), g.last(id));
      }).as_ordered().to_vector();
      ASSERT_EQ(rows.size(), wanted.size());
      std::int64_t before = -1;
      for (const auto& [visitor, count, longest, first, last] : rows) {
        const auto& w = wanted.at(visitor);
        EXPECT_EQ(std::tuple(count, longest, first, last), w) << visitor;
        EXPECT_LT(before, first);  // groups in order of first appearance
        before = first;
      }
    };
    check([](auto v) { return v.visitor; });
    check(query::opaque([](const Visit& v) { return v.visitor; }));
  });
}

TEST(many_groups, all_of_the_groups_may_be_of_the_first_rows) {
  on_one_and_eight_threads([](auto q) {
    const auto id = query::opaque([](const Visit& v) { return v.id; });
    const auto counts = q.where([](auto v) { return v.id < 60'000; }).count_by(id).as_ordered().to_vector();
    ASSERT_EQ(counts.size(), 60'000u);
    for (std::size_t i = 0; i < counts.size(); ++i) EXPECT_EQ(counts[i], std::tuple(static_cast<std::int64_t>(i), std::int64_t{1}));
  });
}

// Many chunks of rows, each with keys of every partition; the keys are not all there while the groups are.
TEST(many_groups, computed_keys_take_little_memory) {
  std::vector<std::pair<std::int64_t, double>> rows(2'000'000);
  const auto distinct = static_cast<std::int64_t>(rows.size() / 2);
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = {static_cast<std::int64_t>(i) * 7919 % distinct, 1.0 + static_cast<double>(i / (rows.size() / 2))};
  query::Session session({.threads = 2});
  const auto key = query::opaque([](const std::pair<std::int64_t, double>& r) { return r.first; });
  session.trim();
  session.reset_memory_peak();
  const auto sums = query::from(rows).in(session).group_by(key).select([](auto g) {
    return std::pair(g.key(), g.sum([](auto r) { return r.second; }));
  }).to_vector();
  const double input = static_cast<double>(rows.size() * 16), groups = static_cast<double>(sums.size() * 16);
  EXPECT_LE((input + static_cast<double>(session.memory_peak())) / (input + groups), 1.8);  // of buffers of whole huge pages
  ASSERT_EQ(sums.size(), rows.size() / 2);
  std::vector<double> by_key(sums.size());
  for (const auto& [k, sum] : sums) by_key[static_cast<std::size_t>(k)] += sum;
  EXPECT_TRUE(std::all_of(by_key.begin(), by_key.end(), [](double sum) { return sum == 3.0; }));
}

TEST(many_groups, floating_sums_do_not_depend_on_threads) {
  std::vector<std::vector<std::uint64_t>> bits;
  on_one_and_eight_threads([&](auto q) {
    auto& to = bits.emplace_back();
    for (const auto& [page, sum] : q.group_by([](auto v) { return v.page; }).select([](auto g) {
           return std::tuple(g.key(), g.sum([](auto v) { return v.seconds; }));
         }).as_ordered().to_vector())
      to.push_back(std::bit_cast<std::uint64_t>(sum));
  });
  EXPECT_EQ(bits[0].size(), static_cast<std::size_t>(pages));
  for (const auto& b : bits) EXPECT_EQ(b, bits[0]);
}

}  // namespace
}  // namespace query::tests
