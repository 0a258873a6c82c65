// cached() in a cluster: each process keeps its part of the rows, and later queries begin with it. Ranges, of which each process makes its
// own part.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "cluster/cluster_under_test.hpp"
#include "cluster/master/cached_parts.hpp"
#include "runtime/session_state.hpp"

namespace cached_test {

struct sale {
  std::int64_t id;
  std::int32_t shop;
  double price;
};
QUERY_RECORD(sale, id, shop, price);
struct made_at {
  std::int64_t id, process, moment;
  std::string text;
  friend bool operator==(const made_at&, const made_at&) = default;
};
QUERY_RECORD(made_at, id, process, moment, text);
struct total {
  std::int32_t shop;
  double price;
  friend bool operator==(const total&, const total&) = default;
};
QUERY_RECORD(total, shop, price);
struct shop_name {
  std::int32_t shop;
  std::string name;
};
QUERY_RECORD(shop_name, shop, name);

namespace {

// Rows that can be made unreadable.
class guarded {
 public:
  explicit guarded(std::size_t n)
      : n_(n), at_(::mmap(nullptr, n * sizeof(sale), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    for (std::size_t i = 0; i < n; ++i)
      data()[i] = {static_cast<std::int64_t>(i), static_cast<std::int32_t>(i * 7 % 1000), static_cast<double>(i % 100)};
  }
  guarded(const guarded&) = delete;
  guarded& operator=(const guarded&) = delete;
  ~guarded() { ::munmap(at_, n_ * sizeof(sale)); }
  std::span<const sale> rows() const { return {data(), n_}; }
  void forbid() const { ASSERT_EQ(::mprotect(at_, n_ * sizeof(sale), PROT_NONE), 0); }
  void allow() const { ASSERT_EQ(::mprotect(at_, n_ * sizeof(sale), PROT_READ), 0); }

 private:
  sale* data() const { return static_cast<sale*>(at_); }
  std::size_t n_;
  void* at_;
};

made_at stamped(const sale& s) {
  return {s.id, ::getpid(), std::chrono::steady_clock::now().time_since_epoch().count(), "text of sale " + std::to_string(s.id)};
}

class cached_rows : public ::testing::Test {
 protected:
  query::Session many = query::Session::cluster(query::tests::three_processes(), {.threads = 1, .gpu = query::gpu_use::off});
  std::uint64_t sent() const { return many.state()->sent_rows; }
};

std::set<std::int64_t> processes_of(const std::vector<made_at>& rows) {
  std::set<std::int64_t> all;
  for (const made_at& r : rows) all.insert(r.process);
  return all;
}

TEST_F(cached_rows, stay_in_their_processes) {
  const guarded source(30000);
  const auto made = query::from(source.rows()).in(many).select([](const sale& s) { return stamped(s); }).cached();
  const auto first = made.to_vector();
  ASSERT_EQ(first.size(), 30000u);
  EXPECT_EQ(processes_of(first).size(), 3u);
  source.forbid();  // neither computed again nor sent
  EXPECT_EQ(made.to_vector(), first);
  const auto half = made.where([](const made_at& r) { return r.id % 2 == 0; });
  EXPECT_EQ(half.count(), 15000u);
  const auto other = made.select([](const made_at& r) { return static_cast<std::int64_t>(::getpid()) - r.process; }).to_vector();
  EXPECT_EQ(std::set<std::int64_t>(other.begin(), other.end()), std::set<std::int64_t>{0});  // each runs where the row is
  EXPECT_NE(made.explain().find("each partition keeps its rows"), std::string::npos) << made.explain();
}

TEST_F(cached_rows, of_groups_are_joined_without_an_exchange) {
  const guarded source(30000);
  const auto totals = query::from(source.rows())
                          .in(many)
                          .group_by([](auto s) { return s.shop; })
                          .select([](auto g) { return query::make<total>(g.key(), g.sum([](auto s) { return s.price; })); })
                          .cached();
  const std::size_t shops = totals.count();
  EXPECT_EQ(shops, 1000u);
  source.forbid();
  const auto before = sent();
  // Groups by the same key: no row changes its process.
  const auto most = totals.group_by([](auto t) { return t.shop; }).select([](auto g) {
    return query::make<total>(g.key(), g.max([](auto t) { return t.price; }));
  });
  EXPECT_EQ(most.count(), shops);
  EXPECT_EQ(sent(), before) << most.explain();
}

// All of them: the rows of the source may be others by now.
TEST_F(cached_rows, are_computed_again_where_a_process_was_lost) {
  if (query::tests::on_ray()) GTEST_SKIP() << "kills its own processes";
  std::vector<sale> rows;
  const auto add = [&](std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) rows.push_back({std::ssize(rows), 1, 1.0});
  };
  add(30000);
  const auto made = query::from(rows).in(many).select([](const sale& s) { return stamped(s); }).cached();
  const auto first = made.to_vector();
  ASSERT_EQ(first.size(), 30000u);
  add(30000);
  EXPECT_EQ(made.to_vector(), first);
  const auto containers = query::tests::containers();
  ASSERT_EQ(containers.size(), 2u);
  ::kill(containers.front(), SIGKILL);
  const auto second = made.to_vector();
  ASSERT_EQ(second.size(), 60000u);
  for (std::size_t i = 0; i < second.size(); ++i) ASSERT_EQ(second[i].id, static_cast<std::int64_t>(i));
  rows.clear();
  EXPECT_EQ(made.to_vector(), second);
}

TEST_F(cached_rows, are_read_from_a_range) {
  const auto squares = query::range(std::int64_t{-5}, 100000).in(many).select([](auto x) { return x * x; }).cached();
  double sum = 0;
  for (std::int64_t x = -5; x < 99995; ++x) sum += static_cast<double>(x * x);
  EXPECT_DOUBLE_EQ(static_cast<double>(squares.sum()), sum);
  EXPECT_EQ(squares.first(), 25);
  EXPECT_EQ(squares.skip(99999).first(), std::int64_t{99994} * 99994);
}

TEST_F(cached_rows, of_queries_that_are_gone_go) {
  for (int i = 0; i < 20; ++i) {
    const auto made = query::range(i, 200000).in(many).select([](auto x) { return x + 1; }).cached();
    ASSERT_EQ(made.count(), 200000u);
    ASSERT_EQ(made.max(), i + 200000);
  }
}

TEST(ranges_in_partitions, are_made_where_they_are_read) {
  query::Session many = query::Session::cluster(query::tests::three_processes(), {.threads = 1, .gpu = query::gpu_use::off});
  const auto processes = query::range(0, 3000).in(many).select([](int) { return static_cast<std::int64_t>(::getpid()); }).to_vector();
  EXPECT_EQ(std::set<std::int64_t>(processes.begin(), processes.end()).size(), 3u);
  const auto check = [&]<class T>(T first) {
    const auto all = query::range(first, 3001).in(many).where([](auto) { return true; }).to_vector();
    ASSERT_EQ(all.size(), 3001u);
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<T>(first + static_cast<T>(i)));
  };
  check(std::int16_t{-3000});
  check(std::uint16_t{60000});
  check(std::numeric_limits<int>::min());
  check(std::numeric_limits<std::uint64_t>::max() - 3000);
  const auto bytes = query::range(std::int8_t{-100}, 200).in(many).to_vector();
  EXPECT_EQ(bytes.back(), 99);
  const auto fractions = query::range(0.1, 5000).in(many).to_vector(), alone = query::range(0.1, 5000).to_vector();
  EXPECT_EQ(fractions, alone);
}

TEST(cached_parts, are_known_by_numbers_that_do_not_come_again) {
  query::cluster::cached_parts parts;
  auto a = std::make_shared<int>(1);
  const auto first = parts.number_of(a);
  EXPECT_EQ(parts.number_of(a), first);
  EXPECT_FALSE(parts.are_kept(first, 1, nullptr));
  EXPECT_TRUE(parts.gone().empty());
  a.reset();
  EXPECT_EQ(parts.gone(), std::vector<std::uint64_t>{first});
  a = std::make_shared<int>(2);
  EXPECT_NE(parts.number_of(a), first);
  EXPECT_EQ(parts.gone(), std::vector<std::uint64_t>{first});  // told again
}

}  // namespace
}  // namespace cached_test
