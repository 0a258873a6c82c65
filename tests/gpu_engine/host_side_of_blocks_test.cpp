// What runs on the host when rows do not fit the device: cutting them, moving them apart by partition, merging sorted
// runs, and the feed of blocks (on the driver double, whose memory is the host's).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/out_of_core/block_feed.hpp"
#include "gpu_engine/out_of_core/host_partitions.hpp"
#include "gpu_engine/out_of_core/merge_runs.hpp"
#include "runtime/thread_pool.hpp"

namespace {

using namespace query::gpu_engine;

struct Item {
  std::int64_t key;
  std::int32_t run;
  std::int32_t at;
  bool operator==(const Item&) const = default;
};
QUERY_RECORD(Item, key, run, at);

class blocks_on_the_host : public testing::Test {
 protected:
  query::runtime::thread_pool threads_{3};
  query::runtime::buffer_pool pool_{std::size_t{1} << 30};
  query::runtime::cancel_flag cancel_;
  query::runtime::run_context context_{threads_, pool_, cancel_};
  const query::ir::type* type_ = query::ir::describe<Item>();

  // Keys in two words, the second one's bits inverted, so that both matter.
  sorted_run run_of(const std::vector<Item>& items) {
    sorted_run r;
    auto rows =
        std::make_shared<query::runtime::buffer>(pool_.allocate(std::max<std::size_t>(items.size(), 1) * sizeof(Item)));
    if (!items.empty()) std::memcpy(rows->data(), items.data(), items.size() * sizeof(Item));
    r.rows.rows = rows->data();
    r.rows.n = items.size();
    r.rows.type = type_;
    r.rows.owner = rows;
    r.keys = pool_.allocate(std::max<std::size_t>(items.size(), 1) * 16);
    for (std::size_t i = 0; i < items.size(); ++i) {
      r.keys.as<std::uint64_t>()[2 * i] = static_cast<std::uint64_t>(items[i].key) >> 4;
      r.keys.as<std::uint64_t>()[2 * i + 1] = static_cast<std::uint64_t>(items[i].key) & 15;
    }
    return r;
  }
};

TEST_F(blocks_on_the_host, sorted_runs_merge_stably) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::int64_t keys = seed % 3 == 0 ? 1 : seed % 3 == 1 ? 20 : 1'000'000;
    std::vector<Item> all;
    std::vector<sorted_run> runs;
    const int count = 1 + static_cast<int>(random() % 9);
    for (int r = 0; r < count; ++r) {
      std::vector<Item> items(random() % 5 == 0 ? 0 : random() % 60'000);
      for (Item& i : items) i = {static_cast<std::int64_t>(random()) % keys, r, 0};
      std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.key < b.key; });
      for (std::size_t i = 0; i < items.size(); ++i) items[i].at = static_cast<std::int32_t>(i);
      all.insert(all.end(), items.begin(), items.end());
      runs.push_back(run_of(items));
    }
    std::stable_sort(all.begin(), all.end(), [](const Item& a, const Item& b) { return a.key < b.key; });
    for (const std::uint64_t limit : {~std::uint64_t{0}, std::uint64_t{100}, std::uint64_t{0}}) {
      const query::detail::table t = merge_runs(runs, type_, 2, limit, context_);
      ASSERT_EQ(t.n, std::min<std::uint64_t>(limit, all.size()));
      EXPECT_TRUE(std::equal(static_cast<const Item*>(t.rows), static_cast<const Item*>(t.rows) + t.n, all.begin()));
    }
  }
}

TEST_F(blocks_on_the_host, partitions_keep_the_order_of_their_rows_and_leave_out_filtered_ones) {
  host_partitions parts(sizeof(Item), 7, context_);
  std::vector<std::vector<Item>> wanted(7);
  std::mt19937 random(3);
  for (int chunk = 0; chunk < 3; ++chunk) {
    std::vector<Item> items(chunk == 1 ? 5 : 70'001);
    std::vector<std::uint32_t> places(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      items[i] = {static_cast<std::int64_t>(random()), chunk, static_cast<std::int32_t>(i)};
      places[i] = random() % 8;  // one in eight is filtered out
      if (places[i] == 7)
        places[i] = 0xffffffffu;
      else if (places[i] == 3)
        places[i] = 2;  // partition 3 stays empty
      if (places[i] < 7) wanted[places[i]].push_back(items[i]);
    }
    parts.append(items.data(), places.data(), items.size());
  }
  for (std::uint32_t p = 0; p < 7; ++p) {
    std::vector<Item> found;
    for (const host_partitions::piece& piece : parts.rows_of(p))
      found.insert(found.end(), static_cast<const Item*>(piece.rows), static_cast<const Item*>(piece.rows) + piece.n);
    EXPECT_EQ(parts.size(p), found.size());
    EXPECT_TRUE(found == wanted[p]) << "partition " << p;
  }
}

class fed_blocks : public blocks_on_the_host {
 protected:
  void SetUp() override {
    items_.resize(100'000);
    for (std::size_t i = 0; i < items_.size(); ++i)
      items_[i] = {static_cast<std::int64_t>(i) * 3, 1, static_cast<std::int32_t>(i)};
  }
  std::shared_ptr<gpu_session> session(std::size_t budget) {
    return std::make_shared<gpu_session>(device_, budget, kernels_);
  }
  // The column `at` of all blocks, read from where the double keeps it.
  std::vector<std::int32_t> read(const std::shared_ptr<gpu_session>& gpu, block_source& source, std::size_t most,
                                 std::size_t& longest) {
    block_feed feed(gpu, source, type_, {{offsetof(Item, at), type_->field_list[2].of}}, most, context_);
    std::vector<std::int32_t> found;
    longest = 0;
    while (const device_block b = feed.next()) {
      longest = std::max<std::size_t>(longest, b.rows->size());
      const auto* values = reinterpret_cast<const std::int32_t*>(b.rows->column(0));
      found.insert(found.end(), values, values + b.rows->size());
    }
    return found;
  }
  std::vector<std::int32_t> wanted() const {
    std::vector<std::int32_t> all(items_.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  whole_rows source() {
    query::detail::row_block rows;
    rows.rows = items_.data();
    rows.n = items_.size();
    return {rows, type_, nullptr};
  }

  std::vector<Item> items_;
  driver_double fake_;
  device device_{fake_.calls(), 0};
  kernel_cache kernels_{{.headers = {}, .options = {}, .folder = "", .compile = {}}};
};

TEST_F(fed_blocks, are_all_rows_in_order) {
  for (const std::size_t most : {std::size_t{1000}, std::size_t{33'333}, std::size_t{1} << 20}) {
    auto rows = source();
    std::size_t longest;
    EXPECT_TRUE(read(session(std::size_t{64} << 20), rows, most, longest) == wanted());
    EXPECT_EQ(longest, std::min(most, items_.size()));
  }
}

TEST_F(fed_blocks, ask_the_driver_for_no_memory_in_steady_state) {
  auto gpu = session(std::size_t{64} << 20);
  auto rows = source();
  block_feed feed(gpu, rows, type_, {{offsetof(Item, at), type_->field_list[2].of}}, 1000, context_);
  for (int block = 0; block < 4; ++block) ASSERT_TRUE(feed.next());
  const auto before = gpu->memory().counters();
  int blocks = 0;
  while (const device_block b = feed.next()) ++blocks;
  const auto after = gpu->memory().counters();
  EXPECT_EQ(blocks, 96);
  EXPECT_LE(after.driver_allocations, before.driver_allocations + 1);  // two blocks at once, for the first time
  EXPECT_GE(after.allocations, before.allocations + 95);
}

TEST_F(fed_blocks, shrink_where_memory_is_short) {
  auto rows = source();
  std::size_t longest;
  EXPECT_TRUE(read(session(100'000), rows, 60'000, longest) == wanted());  // 240,000 bytes a block do not fit
  EXPECT_LE(longest, 25'000u);
}

TEST_F(fed_blocks, say_so_where_nothing_fits) {
  auto rows = source();
  std::size_t longest;
  EXPECT_THROW((void)read(session(2048), rows, 60'000, longest), out_of_memory);
}

TEST_F(fed_blocks, survive_a_failure_of_any_allocation) {
  auto gpu = session(std::size_t{64} << 20);
  std::size_t longest;
  {
    auto rows = source();
    (void)read(gpu, rows, 9'000, longest);
  }
  const auto count = gpu->memory().counters().allocations;
  for (std::uint64_t k = 1; k <= count; ++k) {
    auto rows = source();
    gpu->memory().fail_allocation(k);
    EXPECT_TRUE(read(gpu, rows, 9'000, longest) == wanted()) << k;
    EXPECT_EQ(gpu->memory().counters().used, 0u);
  }
}

TEST_F(fed_blocks, that_the_operator_cannot_hold_are_read_again_in_shorter_ones) {
  auto gpu = session(std::size_t{64} << 20);
  auto rows = source();
  block_feed feed(gpu, rows, type_, {{offsetof(Item, at), type_->field_list[2].of}}, 40'000, context_);
  std::vector<std::int32_t> found;
  bool gave_way = false;
  while (const device_block b = feed.next()) {
    const auto* values = reinterpret_cast<const std::int32_t*>(b.rows->column(0));
    found.insert(found.end(), values, values + b.rows->size());
    if (gave_way) {
      EXPECT_LE(b.rows->size(), 10'000u);
    } else {
      feed.give_way(10'000);
    }
    gave_way = true;
  }
  EXPECT_TRUE(found == wanted());
  EXPECT_EQ(gpu->memory().counters().used, 0u);
}

TEST_F(fed_blocks, end_when_the_query_is_cancelled) {
  auto gpu = session(std::size_t{64} << 20);
  auto rows = source();
  block_feed feed(gpu, rows, type_, {{0, type_}}, 10'000, context_);
  (void)feed.next();
  cancel_.cancel();
  EXPECT_THROW(while (feed.next()){}, query::cancelled);
}

}  // namespace
