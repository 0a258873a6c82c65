// Groups of several devices on the driver double, with kernels of groups that do what the generated ones do, for keys and sums that the
// test gives: what is put together is right, what crosses from device to device is what has to, and the host waits no oftener than it must.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/gpu_engine.hpp"
#include "gpu_engine/several/group_exchange.hpp"
#include "gpu_engine/several/gpu_set.hpp"
#include "gpu_engine/words_read.hpp"

namespace {

using namespace query::gpu_engine;

struct Row {
  std::int64_t key;
  std::int64_t value;
};
QUERY_RECORD(Row, key, value);
struct Total {
  std::int64_t key;
  std::int64_t sum;
  std::int64_t n;
  bool operator==(const Total&) const = default;
};
QUERY_RECORD(Total, key, sum, n);

// A (key, state) pair of group_by(key).select(sum, count).
struct pair {
  std::uint64_t key, sum, n;
};
using groups = std::map<std::uint64_t, pair>;

template <class T> T* memory(std::uint64_t address) { return reinterpret_cast<T*>(address); }

class exchanged_groups : public testing::Test {
 protected:
  using call = driver_double::generated_call;

  void SetUp() override {
    fake_.allow_unknown_kernels();
    for (int i = 0; i < 4; ++i) devices_.push_back(std::make_unique<device>(fake_.calls(), i));
    rows_.resize(400'000);
    // Of a sample: all keys differ. So each share's groups go straight into a table for as many groups as rows.
    fake_.add_generated("sample_groups", [](const call& c) {
      const auto w = read_by(c, "sample_groups");  // slots, bits twice, sample_count, full, sample_rows, sample_stride, sample_kept
      std::uint64_t* const counts = memory<std::uint64_t>(w[3]);
      counts[0] = *memory<std::uint64_t>(w[7]) = w[5];
      counts[1] = counts[2] = w[5] / 2;
    });
    fake_.add_generated("init_table", [this](const call& c) { tables_[read_by(c, "the_table")[0]].clear(); });
    fake_.add_generated("grow_table", [this](const call& c) {
      const auto w = read_by(c, "grow_table");
      tables_[w[0]] = tables_[read_by(c, "the_table")[0]];
      ++grown_;
    });
    fake_.add_generated("aggregate_rows", [this](const call& c) {
      groups& table = tables_[read_by(c, "the_table")[0]];
      for (const pair& p : of_device_[static_cast<std::size_t>(c.device)]) table[p.key] = p;
    });
    fake_.add_generated("emit_table", [this](const call& c) {
      const groups& table = tables_[read_by(c, "the_table")[0]];
      const auto w = read_by(c, "emit_group");  // out_capacity, out
      const auto counts = read_by(c, "emit_table");  // full, full_before, group_count
      for (const std::uint64_t full : {counts[0], counts[1]})
        if (full && *memory<std::uint32_t>(full)) return;
      std::uint64_t& count = *memory<std::uint64_t>(counts[2]);
      for (const auto& [key, p] : table)  // a pair and a row of the result are the same three words
        if (const std::uint64_t at = count++; at < w[0]) memory<pair>(w[1])[at] = p;
    });
    fake_.add_generated("pair_groups", [this](const call& c) {
      const auto w = read_by(c, "pair_groups");  // partials, group_count, out_capacity
      for (const auto& [key, p] : tables_[read_by(c, "the_table")[0]])
        if (const std::uint64_t at = (*memory<std::uint64_t>(w[1]))++; at < w[2]) memory<pair>(w[0])[at] = p;
    });
    fake_.add_generated("count_pairs_of_parts", [](const call& c) {
      const auto w = read_by(c, "count_pairs_of_parts");  // partials, entries, parts, counts
      for (std::uint64_t i = 0; i < w[1]; ++i) ++memory<std::uint64_t>(w[3])[memory<pair>(w[0])[i].key % w[2]];
    });
    fake_.add_generated("scatter_pairs_to_parts", [](const call& c) {
      const auto w = read_by(c, "scatter_pairs_to_parts");  // partials, entries, parts, counts, cursors, out
      for (std::uint64_t i = 0; i < w[1]; ++i) {
        const pair& p = memory<pair>(w[0])[i];
        std::uint64_t at = memory<std::uint64_t>(w[4])[p.key % w[2]]++;
        for (std::uint64_t before = 0; before < p.key % w[2]; ++before) at += memory<std::uint64_t>(w[3])[before];
        memory<pair>(w[5])[at] = p;
      }
    });
    fake_.add_generated("merge_partials", [this](const call& c) { merge(c); });
  }

  void merge(const call& c) {
    const auto w = read_by(c, "merge_partials");  // entries, listed tiles, their number, partials
    const auto list = read_by(c, "the_list");     // tiles, their number, full
    groups& table = tables_[read_by(c, "the_table")[0]];
    for (std::uint64_t tile = 0; tile < (w[1] ? w[2] : (w[0] + 31) / 32); ++tile) {
      const std::uint64_t packed =
          w[1] ? memory<std::uint64_t>(w[1])[tile] : (tile * 32) << 16 | std::min<std::uint64_t>(32, w[0] - tile * 32);
      if (refused_ > 0) {
        --refused_;
        memory<std::uint64_t>(list[0])[(*memory<std::uint64_t>(list[1]))++] = packed;
        *memory<std::uint32_t>(list[2]) = 1;
        continue;
      }
      for (std::uint64_t i = packed >> 16; i < (packed >> 16) + (packed & 0xffff); ++i) {
        const pair& p = memory<pair>(w[3])[i];
        pair& into = table.try_emplace(p.key, pair{p.key, 0, 0}).first->second;
        into.sum += p.sum;
        into.n += p.n;
      }
    }
  }

  // Each device's groups: `own` keys of its own, and those that all have.
  void give(std::size_t devices, std::uint64_t common, std::uint64_t own) {
    of_device_.assign(4, {});
    for (std::uint64_t d = 0; d < devices; ++d) {
      for (std::uint64_t k = 0; k < common; ++k) of_device_[d].push_back({k, k * (d + 1), d + 1});
      for (std::uint64_t k = 0; k < own; ++k) of_device_[d].push_back({1'000'000 * (d + 1) + k, k, 1});
    }
    expected_.clear();
    std::map<std::uint64_t, pair> all;
    for (const auto& of : of_device_)
      for (const pair& p : of) {
        pair& into = all.try_emplace(p.key, pair{p.key, 0, 0}).first->second;
        into.sum += p.sum;
        into.n += p.n;
      }
    for (const auto& [key, p] : all)
      expected_.push_back({static_cast<std::int64_t>(key), static_cast<std::int64_t>(p.sum), static_cast<std::int64_t>(p.n)});
  }
  void use(std::size_t devices) {
    std::vector<const device*> some;
    for (std::size_t i = 0; i < devices; ++i) some.push_back(devices_[i].get());
    kept_.reset();
    engine_ = make_engine(some, {.memory = std::size_t{256} << 20, .min_rows = 0}, kernels_, 0, 1000);
    session_ = std::make_unique<query::Session>(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
    session_->add_engine(engine_);
    kept_.emplace(query::from(rows_).as_accelerated().in(*session_).cached());
    (void)kept_->count();
  }
  // Another number each time, which the double does not look at: numbers of groups are not remembered, and a sample is taken.
  auto query() {
    return kept_->group_by([n = ++queries_](auto r) { return r.key + n; }).select([](auto g) {
      return query::make<Total>(g.key(), g.sum([](auto r) { return r.value; }), g.count());
    });
  }
  void is_right(const char* what) {
    SCOPED_TRACE(what);
    const auto q = query();
    std::vector<Total> mine = q.to_vector();
    std::sort(mine.begin(), mine.end(), [](const Total& a, const Total& b) { return a.key < b.key; });
    EXPECT_TRUE(mine == expected_) << mine.size() << " and " << expected_.size();
    EXPECT_EQ(q.explain().find("went to the cpu"), std::string::npos) << q.explain();
    EXPECT_EQ(fake_.misplaced(), 0u);
  }
  std::size_t launches(const char* kernel) const { return fake_.launches(kernel); }

  std::int64_t queries_ = 0;
  std::vector<Row> rows_;
  std::vector<std::vector<pair>> of_device_;
  std::vector<Total> expected_;
  std::map<std::uint64_t, groups> tables_;  // by address; kernels run one at a time
  int refused_ = 0, grown_ = 0;             // tiles of merges that find no place; tables
  driver_double fake_{1, std::size_t{1} << 30, 4};
  std::vector<std::unique_ptr<device>> devices_;
  kernel_cache kernels_{
      {.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }}};
  std::shared_ptr<query::runtime::engine> engine_;
  std::unique_ptr<query::Session> session_;
  std::optional<query::Query<Row>> kept_;
};

TEST_F(exchanged_groups, go_to_the_first_device_where_they_are_few) {
  for (const std::size_t devices : {std::size_t{2}, std::size_t{4}}) {
    SCOPED_TRACE(devices);
    use(devices);
    give(devices, 900, 50);
    is_right("first run");
    const auto between = fake_.bytes_between(), waits = fake_.copies_down(), asked = fake_.allocations();
    is_right("second run");
    EXPECT_EQ(fake_.bytes_between() - between, (devices - 1) * 950 * sizeof(pair));
    // A share: its sample, its groups, its pairs. Then the merge, and the rows.
    EXPECT_EQ(fake_.copies_down() - waits, 2 * devices + 2);
    EXPECT_EQ(fake_.allocations(), asked) << "the driver was asked for memory";
    EXPECT_EQ(launches("scatter_pairs_to_parts"), 0u);
    EXPECT_EQ(gpus_of(*engine_).threads().started(), devices - 1);
  }
}

TEST_F(exchanged_groups, are_parted_by_key_where_they_are_many) {
  for (const std::size_t devices : {std::size_t{2}, std::size_t{3}, std::size_t{4}}) {
    SCOPED_TRACE(devices);
    use(devices);
    give(devices, 60'000, 30'000);
    is_right("first run");
    const auto between = fake_.bytes_between(), waits = fake_.copies_down(), asked = fake_.allocations();
    const auto scattered = launches("scatter_pairs_to_parts"), merged = launches("merge_partials");
    is_right("second run");
    // What is not a device's own share of the keys, once.
    const std::size_t crossed = fake_.bytes_between() - between, all = devices * 90'000 * sizeof(pair);
    EXPECT_NEAR(static_cast<double>(crossed), static_cast<double>(all) * static_cast<double>(devices - 1) / static_cast<double>(devices),
                100'000.0);
    // A share: its sample, its groups, its pairs, their parts, the merge; and the rows: small copies are one wait, others one a piece.
    EXPECT_LE(fake_.copies_down() - waits, (5 + 8) * devices);
    EXPECT_EQ(fake_.allocations(), asked) << "the driver was asked for memory";
    EXPECT_EQ(launches("scatter_pairs_to_parts") - scattered, devices);
    EXPECT_EQ(launches("merge_partials") - merged, devices * devices);
    EXPECT_EQ(launches("pair_groups"), 0u) << "no table of a share was looked through again";
    EXPECT_EQ(grown_, 0);
    EXPECT_EQ(gpus_of(*engine_).threads().started(), devices - 1);
  }
}

TEST_F(exchanged_groups, of_shares_with_few_are_parted_with_the_others) {
  use(3);
  give(3, 10, 0);
  for (std::uint64_t k = 0; k < 131'000; ++k)
    of_device_[1].push_back({5'000'000 + k, 1, 1}), expected_.push_back({static_cast<std::int64_t>(5'000'000 + k), 1, 1});
  for (std::uint64_t k = 0; k < 200; ++k)
    of_device_[2].push_back({6'000'000 + k, 1, 1}), expected_.push_back({static_cast<std::int64_t>(6'000'000 + k), 1, 1});
  is_right("one share with nearly all");
  EXPECT_EQ(launches("scatter_pairs_to_parts"), 3u);
}

TEST_F(exchanged_groups, leave_nothing_behind_when_memory_fails_anywhere_on_their_way) {
  use(2);
  for (const std::uint64_t common : {std::uint64_t{900}, std::uint64_t{70'000}}) {
    give(2, common, 30);
    is_right("all is well");
    const auto used = [&] {
      std::size_t bytes = 0;
      for (const auto& gpu : gpus_of(*engine_).all()) bytes += gpu->memory().counters().used;
      return bytes;
    };
    gpu_session& second = *gpus_of(*engine_).all()[1];
    const auto begin = second.memory().counters().allocations;
    (void)query().to_vector();
    const auto count = second.memory().counters().allocations - begin, before = used();
    EXPECT_GT(count, 4u);
    for (std::uint64_t k = 1; k <= count; ++k) {
      second.memory().fail_allocation(k);
      EXPECT_NO_THROW((void)query().to_vector()) << "allocation " << k << " of " << count;
      second.memory().fail_allocation(0);
      EXPECT_EQ(used(), before) << "allocation " << k << " of " << count;
    }
    EXPECT_EQ(fake_.misplaced(), 0u);
  }
}

TEST_F(exchanged_groups, find_a_larger_table_where_hashes_crowd) {
  use(2);
  for (const std::uint64_t common : {std::uint64_t{900}, std::uint64_t{80'000}}) {
    give(2, common, 30);
    refused_ = 80;  // few: all of the first merge, and some of the next
    is_right("crowded");
    EXPECT_EQ(refused_, 0);
  }
  EXPECT_GT(grown_, 0);
}

}  // namespace
