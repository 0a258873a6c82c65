// What runs on the host when rows do not fit the device: cutting them, moving them apart by partition, merging sorted
// runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include <query/query.hpp>

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

}  // namespace
