// Aggregates of the user's own by group, over rows that come to the device in blocks: states of each form, keys of each width, functions
// that care for the order of rows, groups that do not fit and are spilled, streams, and memory that lacks at each place. Against the CPU
// engine's results. Where there is no GPU these are skipped.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <optional>

#include <query/query.hpp>

#include "gpu_engine/larger_than_memory.hpp"

namespace {

using namespace query::gpu_engine;
using namespace query::gpu_engine::larger_than_memory;

struct Entry {
  std::int64_t id;
  std::int64_t key;
  std::int64_t value;
  std::optional<std::int16_t> lot;
  double price;
};
QUERY_RECORD(Entry, id, key, value, lot, price);
struct Place {
  std::int64_t row;
  std::int32_t column;
};
QUERY_RECORD(Place, row, column);
struct Latest {
  std::int64_t at, value;
};
QUERY_RECORD(Latest, at, value);
// Of values in their order: appended rows multiply what stands before.
struct Sequence {
  std::uint64_t hash, power;
};
QUERY_RECORD(Sequence, hash, power);

constexpr std::size_t mib = std::size_t{1} << 20;

std::vector<Entry> entries(std::int64_t n, std::int64_t keys) {
  std::vector<Entry> all(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t h = mixed(static_cast<std::uint64_t>(i) + 1);
    Entry& e = all[static_cast<std::size_t>(i)];
    e = {i, static_cast<std::int64_t>(h % static_cast<std::uint64_t>(keys)), static_cast<std::int64_t>(h >> 44) - 500'000, std::nullopt,
         h % 50 == 0 ? (h % 100 == 0 ? std::nan("") : -0.0) : static_cast<double>((h >> 20) % 4000) / 4};
    if (h % 3) e.lot = static_cast<std::int16_t>(h >> 52);
  }
  return all;
}

const auto whole = [](auto x) { return query::cast<std::int64_t>(x); };

// What each does is in `sum` of a Total.
const auto sequence_of = [](auto g, auto value) {
  return g.aggregate(
      Sequence{0, 1},
      [=](auto s, auto r) {
        return query::make<Sequence>(s.hash * std::uint64_t{31} + query::cast<std::uint64_t>(value(r)), s.power * std::uint64_t{31});
      },
      [](auto a, auto b) { return query::make<Sequence>(a.hash * b.power + b.hash, a.power * b.power); },
      [](auto s) { return query::cast<std::int64_t>(s.hash); });
};
const auto in_sequence = [](auto g) {
  return query::make<Total>(whole(g.key()), sequence_of(g, [](auto r) { return r.value; }), g.count());
};

class states_in_blocks : public fixture {
 protected:
  void SetUp() override {
    fixture::SetUp();
    in_blocks_ = true;
  }
};

TEST_F(states_in_blocks, meet_those_of_the_blocks_before) {
  const std::vector<Entry> rows = entries(70'000, 900);
  const std::vector<Dim> dims = [] {
    std::vector<Dim> all;
    for (std::int64_t i = 0; i < 600; ++i) all.push_back({i, i % 13});
    return all;
  }();
  const auto all = query::from(rows).as_accelerated();
  const auto by_key = all.group_by([](auto r) { return r.key; });
  const std::uint64_t captured = 1;
  for (const std::size_t block : {std::size_t{3'001}, std::size_t{25'000}, std::size_t{1} << 22}) {
    SCOPED_TRACE(block);
    use(24 * mib, block);
    same_groups("in the order of rows", by_key.select(in_sequence));
    same_groups("one group", all.group_by([](auto r) { return r.id * 0 + 5; }).select(in_sequence));
    same_groups("one heavy group", all.group_by([](auto r) { return query::iff(r.id % 8 != 0, r.id * 0 - 1, r.id); }).select(in_sequence));
    same_groups("a group a row", all.group_by([](auto r) { return r.id; }).select(in_sequence));
    same_groups("behind a filter", all.where([](auto r) { return r.value % 3 == 0; })
                                       .group_by([](auto r) { return r.key; })
                                       .select(in_sequence));
    same_groups("of the last block alone", all.where([](auto r) { return r.id > 69'000; })
                                               .group_by([](auto r) { return r.key; })
                                               .select(in_sequence));
    same_groups("of no rows", all.where([](auto r) { return r.id < 0; }).group_by([](auto r) { return r.key; }).select(in_sequence));
    same_groups("the last value", by_key.select([](auto g) {
      const auto last = g.aggregate(
          Latest{-1, 0}, [](auto, auto r) { return query::make<Latest>(r.id, r.value); },
          [](auto a, auto b) { return query::make<Latest>(query::iff(b.at < 0, a.at, b.at), query::iff(b.at < 0, a.value, b.value)); },
          [](auto s) { return s.value; });
      return query::make<Total>(g.key(), last, g.count());
    }));
    same_groups("an array", by_key.select([](auto g) {
      const auto levels = g.aggregate(
          std::array<std::int64_t, 5>{},
          [](auto s, auto r) {
            for (int i = 0; i < 5; ++i) s[i] += query::iff(query::lazy(r.key) % 5 == i, r.value, r.value * 0);
            return s;
          },
          [](auto a, auto b) {
            for (int i = 0; i < 5; ++i) a[i] += b[i];
            return a;
          },
          [](auto s) { return s[0] + s[1] * 3 + s[2] * 5 + s[3] * 7 + s[4] * 11; });
      return query::make<Total>(g.key(), levels, g.count());
    }));
    same_groups("a captured seed", by_key.select([captured](auto g) {
      const auto product = g.aggregate(
          captured, [](auto s, auto r) { return s * (query::cast<std::uint64_t>(r.value) * std::uint64_t{2} + std::uint64_t{1}); },
          [](auto a, auto b) { return a * b; }, [](auto s) { return query::cast<std::int64_t>(s); });
      return query::make<Total>(g.key(), product, g.count());
    }));
    same_groups("beside others", by_key.select([](auto g) {
      const auto own = g.aggregate(std::int64_t{0}, [](auto s, auto r) { return s + r.value; }, [](auto a, auto b) { return a + b; });
      return query::make<Total>(g.key(), own + g.max([](auto r) { return r.id; }) * 3 - g.min([](auto r) { return r.value; }),
                                g.sum([](auto r) { return r.value; }) + g.count([](auto r) { return r.value > 0; }));
    }));
    const auto nothing_of_the_key = [](auto g) {
      return query::make<Total>(g.min([](auto r) { return r.id; }), sequence_of(g, [](auto r) { return r.id; }), g.count());
    };
    same_groups("nulls as keys", all.group_by([](auto r) { return r.lot; }).select(nothing_of_the_key));
    same_groups("NaNs and zeros as keys", all.group_by([](auto r) { return r.price; }).select(nothing_of_the_key));
    same_groups("keys of four bytes",
                all.group_by([](auto r) { return query::cast<std::int32_t>(r.key % 77); }).select(in_sequence));
    same_groups("keys of two words",
                all.group_by([](auto r) { return query::make<Place>(r.key % 100, query::cast<std::int32_t>(r.id % 7)); })
                    .select([](auto g) {
                      return query::make<Total>(g.key().row * 10 + g.key().column, sequence_of(g, [](auto r) { return r.id; }), g.count());
                    }));
    same_groups("behind a join",
                all.join(query::from(dims), [](auto r) { return r.key; }, [](auto d) { return d.key; },
                         [](auto r, auto d) { return query::make<Latest>(d.factor, r.value); })
                    .group_by([](auto l) { return l.at; })
                    .select([](auto g) {
                      const auto sum = g.aggregate(
                          std::int64_t{0}, [](auto s, auto l) { return s + l.value; }, [](auto a, auto b) { return a + b; });
                      return query::make<Total>(g.key(), sum, g.count());
                    }));
    EXPECT_EQ(session_of(*engine_).memory().counters().used, 0u);
  }
}

// Their groups go to host memory several times, each with rows before and behind.
TEST_F(states_in_blocks, are_spilled_where_they_do_not_fit) {
  const std::vector<Entry> rows = entries(2'000'000, 600'000);
  use(24 * mib, 0);
  const auto all = query::from(rows).as_accelerated();
  same_groups("many groups", all.group_by([](auto r) { return r.key; }).select(in_sequence));
  EXPECT_NE(plan_.find("of groups to host memory"), std::string::npos) << plan_;
  same_groups("a group a row", all.group_by([](auto r) { return r.id; }).select(in_sequence));
  EXPECT_NE(plan_.find("of groups to host memory"), std::string::npos) << plan_;
  same_groups("keys of two words",
              all.group_by([](auto r) { return query::make<Place>(r.key, query::cast<std::int32_t>(r.key % 7)); }).select([](auto g) {
                return query::make<Total>(g.key().row * 10 + g.key().column, sequence_of(g, [](auto r) { return r.id; }), g.count());
              }));
  EXPECT_NE(plan_.find("of groups to host memory"), std::string::npos) << plan_;
  same_groups("few groups", all.group_by([](auto r) { return r.key % 1000; }).select(in_sequence));
  EXPECT_EQ(plan_.find("of groups to host memory"), std::string::npos) << plan_;
  EXPECT_LE(session_of(*engine_).memory().counters().peak, 24 * mib);
  EXPECT_EQ(session_of(*engine_).memory().counters().used, 0u);
}

TEST_F(states_in_blocks, of_a_stream_need_no_more_host_memory_than_blocks) {
  use(64 * mib, 0);
  const std::int64_t n = 25'000'000;
  for (const std::int64_t keys : {std::int64_t{1}, std::int64_t{1000}}) {
    SCOPED_TRACE(keys);
    const auto numbers = query::generate([i = std::int64_t{0}]() mutable { return i < n ? std::optional(i++) : std::nullopt; });
    const auto q = numbers.as_accelerated().in(*gpu_).group_by([keys](auto i) { return i % keys; }).select([](auto g) {
      const auto sum = g.aggregate(std::int64_t{0}, [](auto s, auto i) { return s + i; }, [](auto a, auto b) { return a + b; });
      return query::make<Total>(g.key(), sum, sequence_of(g, [](auto i) { return i; }));
    });
    gpu_->reset_memory_peak();
    const std::vector<Total> mine = q.to_vector();
    stayed_in_blocks(q);
    EXPECT_LT(gpu_->memory_peak(), static_cast<std::size_t>(n) * 8 / 2) << "of the rows, which a partition would keep twice";
    std::vector<Total> wanted(static_cast<std::size_t>(keys));
    std::vector<std::uint64_t> hashes(wanted.size());
    for (std::int64_t i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(i % keys);
      wanted[k].sum += i;
      hashes[k] = hashes[k] * 31 + static_cast<std::uint64_t>(i);
    }
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      wanted[k].key = static_cast<std::int64_t>(k);
      wanted[k].n = static_cast<std::int64_t>(hashes[k]);
    }
    EXPECT_EQ(digest(mine), digest(wanted));
  }
}

// A block that lacks memory comes again, in halves: none of its rows counts twice.
TEST_F(states_in_blocks, of_blocks_that_lack_memory_count_rows_once) {
  const std::vector<Entry> rows = entries(30'000, 5'000);
  const auto groups = query::from(rows).as_accelerated().group_by([](auto r) { return r.key; }).select(in_sequence);
  const std::uint64_t wanted = digest(groups.in(cpu_).to_vector());
  use(24 * mib, 9'000);
  const auto q = groups.in(*gpu_);
  (void)q.to_vector();
  const auto begin = session_of(*engine_).memory().counters().allocations;
  EXPECT_EQ(digest(q.to_vector()), wanted);
  const auto count = session_of(*engine_).memory().counters().allocations - begin;
  int stayed_there = 0;
  for (std::uint64_t k = 1; k <= count; ++k) {
    SCOPED_TRACE("allocation " + std::to_string(k) + " of " + std::to_string(count));
    session_of(*engine_).memory().fail_allocation(k);
    EXPECT_EQ(digest(q.to_vector()), wanted);
    session_of(*engine_).memory().fail_allocation(0);
    stayed_there += q.explain().find("went to the cpu") == std::string::npos;
    EXPECT_EQ(session_of(*engine_).memory().counters().used, 0u);
  }
  EXPECT_GT(stayed_there, static_cast<int>(count) / 2);
}

}  // namespace
