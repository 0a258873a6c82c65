// A join in three processes where most rows have one key: each process has its share of the work, and of the rows.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "cluster/cluster_under_test.hpp"
#include "runtime/session_state.hpp"

namespace skewed_joins_in_processes_test {

struct fact {
  std::int64_t id, key;
};
QUERY_RECORD(fact, id, key);
struct name {
  std::int64_t key, number;
};
QUERY_RECORD(name, key, number);

namespace {

constexpr std::int64_t n = 60'000, names = 3000;

std::vector<fact> facts(std::int64_t heavy) {
  std::vector<fact> all;
  for (std::int64_t i = 0; i < n; ++i) all.push_back({i, i * 37 % 100 < heavy ? 1 : i * 7919 % names});
  return all;
}
std::vector<name> all_names() {
  std::vector<name> all;
  for (std::int64_t i = 0; i < names; ++i) all.push_back({i, i * 3});
  return all;
}
const auto key = [](auto x) { return x.key; };

// How many rows each process joined.
std::map<std::int64_t, std::int64_t> rows_of_processes(const query::Session& s, const std::vector<fact>& rows,
                                                       const std::vector<name>& all) {
  const auto where = query::from(rows)
                         .in(s)
                         .join(query::from(all).in(s), key, key, [](auto f, auto t) { return query::make<fact>(f.id, t.number); })
                         .select(query::opaque([](const fact&) { return static_cast<std::int64_t>(::getpid()); }))
                         .to_vector();
  std::map<std::int64_t, std::int64_t> rows_of;
  for (const std::int64_t p : where) ++rows_of[p];
  return rows_of;
}
std::int64_t most(const std::map<std::int64_t, std::int64_t>& rows_of) {
  std::int64_t all = 0;
  for (const auto& [p, rows] : rows_of) all = std::max(all, rows);
  return all;
}

TEST(skewed_joins_in_processes, share_the_rows_of_a_heavy_key) {
  const std::vector<name> all = all_names();
  query::Session s = query::Session::cluster(query::tests::three_processes(), {.threads = 1, .gpu = query::gpu_use::off});
  s.state()->most_broadcast = 0;
  const auto sent_for = [&](const std::vector<fact>& rows) {
    const std::uint64_t before = s.state()->sent_bytes;
    const auto shares = rows_of_processes(s, rows, all);
    return std::pair(shares, s.state()->sent_bytes - before);
  };
  for (const std::int64_t heavy : {60, 100}) {
    const std::vector<fact> rows = facts(heavy);
    s.state()->least_spread = ~std::uint64_t{0};
    const auto [hashed, bytes] = sent_for(rows);
    EXPECT_GE(most(hashed), n * heavy / 100);
    s.state()->least_spread = 1000;
    const auto [spread, bytes_spread] = sent_for(rows);
    EXPECT_EQ(spread.size(), 3u);
    EXPECT_LT(most(spread), n * 2 / 5);
    // No more than by hash but copies of what is looked up by the heavy key: a row of each sender at most, for each receiver.
    EXPECT_LE(bytes_spread, bytes + 9 * sizeof(name));
  }
}

}  // namespace
}  // namespace skewed_joins_in_processes_test
