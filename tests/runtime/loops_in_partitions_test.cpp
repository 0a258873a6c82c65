// Loops whose variable lies in partitions: the answers of one partition, and no more bytes sent in a round than its links need.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "runtime/session_state.hpp"

namespace loops_in_partitions_test {

struct page { std::int64_t id, label; };
QUERY_RECORD(page, id, label);
struct link { std::int64_t from, to; };
QUERY_RECORD(link, from, to);
bool operator==(const page& a, const page& b) { return a.id == b.id && a.label == b.label; }

struct session {
  explicit session(int partitions) : of({.threads = 2, .gpu = query::gpu_use::off}) {
    of.state()->partitions = partitions;
    of.state()->most_broadcast = 64;
  }
  std::uint64_t sent() const { return of.state()->sent_bytes; }
  query::Session of;
};
std::vector<page> in_order(std::vector<page> all) {
  std::ranges::sort(all, {}, &page::id);
  return all;
}

constexpr std::int64_t n_pages = 20'000;
const auto id = [](auto p) { return p.id; };

std::vector<page> pages(std::int64_t n = n_pages) {
  std::vector<page> all;
  for (std::int64_t i = 0; i < n; ++i) all.push_back({i, i});
  return all;
}
// A chain of a few pages, from which each round finds one more that belongs together.
std::vector<link> links() {
  std::vector<link> all;
  for (std::int64_t i = 0; i < 40; ++i) all.push_back({i * 131, (i + 1) * 131});
  return all;
}

// A round takes over the label of the page before, if a link leads from there. Whole numbers: in whatever order.
query::Query<page> labelled(const std::vector<link>& along, const query::Query<page>& now) {
  const auto reached = query::from(along)
                           .join(now, [](auto l) { return l.from; }, id, [](auto l, auto p) { return query::make<page>(l.to, p.label); })
                           .group_by(id)
                           .select([](auto g) { return query::make<page>(g.key(), g.sum([](auto p) { return p.label; })); });
  return now.left_join(reached, id, id, [](auto p, auto r) {
    return query::make<page>(p.id, query::iff(r.has_value(), r.value_or(query::make<page>(0, 0)).label, p.label));
  });
}
const auto changes = [](const query::Query<page>& before, const query::Query<page>& after) {
  return query::value_of(before.join(after, id, id, [](auto a, auto b) { return a.label - b.label; })).sum() != 0;
};

TEST(loops_in_partitions, rounds_send_what_links_need_and_not_the_variable) {
  const auto first = pages();
  const auto along = links();
  const auto run = [&](const session& s, int rounds) {
    const auto q = query::from(first).in(s.of).do_while([&](query::Query<page> now) { return labelled(along, now); }, query::times(rounds));
    return in_order(q.to_vector());
  };
  const session one(1), four(4);
  std::uint64_t after_three = 0;
  for (const int rounds : {1, 3, 13}) {
    const std::uint64_t before = four.sent();
    EXPECT_EQ(run(four, rounds), run(one, rounds)) << rounds;
    if (rounds == 3) after_three = four.sent() - before;
    if (rounds < 13) continue;
    EXPECT_LT(four.sent() - before - after_three, n_pages * sizeof(page) / 10);  // in ten rounds
  }
  EXPECT_EQ(four.of.memory_used(), 0u);
}

TEST(loops_in_partitions, the_condition_is_an_aggregate) {
  const auto first = pages();
  const auto along = links();
  const auto q = query::from(first).do_while([&](query::Query<page> now) { return labelled(along, now); }, changes, 100);
  const session one(1), four(4);
  const auto expected = in_order(q.in(one.of).to_vector());
  EXPECT_EQ(expected[40 * 131].label, 0);
  const std::uint64_t before = four.sent();
  EXPECT_EQ(in_order(q.in(four.of).to_vector()), expected);
  EXPECT_LT(four.sent() - before, 5 * n_pages * sizeof(page));  // there, and back; 41 rounds
  const std::string plan = q.in(four.of).explain();
  EXPECT_NE(plan.find("between rounds its rows stay in their partitions, by the hash of the key of"), plan.npos) << plan;
  EXPECT_EQ(plan.find("exchange: broadcast"), plan.npos) << plan;
}

TEST(loops_in_partitions, rows_that_stay_keep_their_order) {
  const auto first = pages();
  const session one(1), four(4);
  const auto q = query::from(first)
                     .where([](auto p) { return p.id % 7 != 3; })
                     .do_while([](query::Query<page> now) {
                       return now.where([](auto p) { return p.label % 11 != 5; })
                           .select([](auto p) { return query::make<page>(p.id, p.label * 3 % 1000); });
                     }, query::times(4));
  const std::uint64_t before = four.sent();
  EXPECT_EQ(q.in(four.of).to_vector(), q.in(one.of).to_vector());
  EXPECT_LT(four.sent() - before, n_pages * sizeof(page));  // the result
}

// The first round sees the rows in their order.
TEST(loops_in_partitions, groups_know_the_first_of_their_rows) {
  std::vector<page> first;
  for (std::int64_t i = 0; i < 5000; ++i) first.push_back({i * 7919 % 5003, i % 61});
  const session one(1), four(4);
  const auto q = query::from(first)
                     .do_while([](query::Query<page> now) {
                       return now.group_by([](auto p) { return p.label; })
                           .select([](auto g) { return query::make<page>(g.first([](auto p) { return p.id; }), g.key() / 2); })
                           .group_by(id)
                           .select([](auto g) { return query::make<page>(g.key(), g.sum([](auto p) { return p.label; })); });
                     }, query::times(1));
  EXPECT_EQ(in_order(q.in(four.of).to_vector()), in_order(q.in(one.of).to_vector()));
}

TEST(loops_in_partitions, few_rows_and_equal_ones) {
  const auto along = links();
  for (const std::int64_t n : {0, 1, 5, 700}) {
    for (const bool equal : {false, true}) {
      auto first = pages(n);
      if (equal)
        for (page& p : first) p = {131, 7};
      const auto q = query::from(first).do_while([&](query::Query<page> now) { return labelled(along, now); }, changes, 100);
      const session one(1), four(4);
      EXPECT_EQ(in_order(q.in(four.of).to_vector()), in_order(q.in(one.of).to_vector())) << n;
    }
  }
}

TEST(loops_in_partitions, errors_of_a_round_are_the_query_s) {
  const auto first = pages();
  const session four(4);
  const auto q = query::from(first).in(four.of).do_while(
      [](query::Query<page> now) {
        return now.select(query::opaque([](const page& p) {
          if (p.label == n_pages + 1) throw std::range_error("too large");
          return page{p.id, p.label + 1};
        }));
      },
      query::times(5));
  EXPECT_THROW(q.to_vector(), std::range_error);
  EXPECT_EQ(four.of.memory_used(), 0u);
  const auto endless = query::from(first).in(four.of).do_while(
      [](query::Query<page> now) { return now.select([](auto p) { return query::make<page>(p.id, p.label + 1); }); },
      [](query::Query<page>, query::Query<page> after) { return query::value_of(after).count() > 0; }, 7);
  EXPECT_THROW(endless.to_vector(), query::user_error);
}

TEST(loops_in_partitions, explain_says_why_a_variable_is_in_one) {
  const auto first = pages();
  const session four(4);
  const auto reason = [&](const query::Query<page>& q) {
    const std::string plan = q.in(four.of).explain(), begins = "between rounds its rows are in one partition: ";
    const std::size_t at = plan.find(begins);
    return at == plan.npos ? plan : plan.substr(at + begins.size(), plan.find('\n', at) - at - begins.size());
  };
  const auto next = [](query::Query<page> now) { return now.select([](auto p) { return query::make<page>(p.id, p.label + 1); }); };
  EXPECT_EQ(reason(query::from(first).take(3).do_while(next, query::times(2))), "it is small");
  EXPECT_EQ(reason(query::from(first).do_while([](query::Query<page> now) { return now.reverse(); }, query::times(2))),
            "a verb wants all of them in order, or in one partition");
  EXPECT_EQ(reason(query::from(first).do_while(
                [](query::Query<page> now) {
                  const auto all = query::broadcast(now);
                  const auto apart = [](auto p, auto q) { return p.id - q.id; };
                  return now.select([all, apart](auto p) { return query::make<page>(p.id, all.min(p, apart)); });
                },
                query::times(2))),
            "all partitions look into all of them");
  EXPECT_EQ(reason(query::from(first).do_while(
                next, [](query::Query<page> before, query::Query<page> after) {
                  return query::value_of(before.zip(after, [](auto a, auto b) { return a.label - b.label; })).max() > 3;
                })),
            "a verb wants all of them in order, or in one partition");
  EXPECT_EQ(reason(query::from(first).do_while(
                next, [](std::span<const page>, std::span<const page> after) { return after.empty(); })),
            "the condition is a function that is given all of its rows");
}

}  // namespace loops_in_partitions_test
