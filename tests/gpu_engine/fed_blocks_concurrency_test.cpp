// The feed of blocks of rows that do not fit the device, on the driver double, whose memory is the host's.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/driver_double.hpp"
#include "gpu_engine/out_of_core/block_consumers.hpp"
#include "runtime/thread_pool.hpp"

namespace {

using namespace query::gpu_engine;

struct Item {
  std::int64_t key;
  std::int32_t at;
};
QUERY_RECORD(Item, key, at);

class fed_blocks : public testing::Test {
 protected:
  void SetUp() override {
    items_.resize(100'000);
    for (std::size_t i = 0; i < items_.size(); ++i)
      items_[i] = {static_cast<std::int64_t>(i) * 3, static_cast<std::int32_t>(i)};
  }
  std::shared_ptr<gpu_session> session(std::size_t budget) {
    return std::make_shared<gpu_session>(device_, budget, kernels_);
  }
  // The column `at` of a block, read from where the double keeps it.
  static void add(std::vector<std::int32_t>& to, const device_block& b) {
    const auto* values = reinterpret_cast<const std::int32_t*>(b.rows->column(0));
    to.insert(to.end(), values, values + b.rows->size());
  }
  // That of all blocks.
  std::vector<std::int32_t> read(const std::shared_ptr<gpu_session>& gpu, block_source& source, std::size_t most,
                                 std::size_t& longest) {
    block_feed feed(gpu, source, type_, {{offsetof(Item, at), type_->field_list[1].of}}, most, context_);
    std::vector<std::int32_t> found;
    longest = 0;
    while (const device_block b = feed.next()) {
      longest = std::max<std::size_t>(longest, b.rows->size());
      add(found, b);
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

  query::runtime::thread_pool threads_{3};
  query::runtime::buffer_pool pool_{std::size_t{1} << 30};
  query::runtime::cancel_flag cancel_;
  query::runtime::run_context context_{threads_, pool_, cancel_};
  const query::ir::type* type_ = query::ir::describe<Item>();
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
  block_feed feed(gpu, rows, type_, {{offsetof(Item, at), type_->field_list[1].of}}, 1000, context_);
  for (int block = 0; block < 4; ++block) ASSERT_TRUE(feed.next());
  const auto before = gpu->memory().counters();
  int blocks = 0;
  while (const device_block b = feed.next()) ++blocks;
  const auto after = gpu->memory().counters();
  EXPECT_EQ(blocks, 96);
  EXPECT_LE(after.driver_allocations, before.driver_allocations + 1);  // two blocks at once, for the first time
  EXPECT_GE(after.allocations, before.allocations + 95);
}

// The bus has nothing to do while a thread waits for it: the next block is packed while the copies of one are under way. In steady
// state no more than two blocks are on the device.
TEST_F(fed_blocks, are_packed_while_the_copies_of_the_block_before_are_under_way) {
  constexpr std::size_t rows_of_block = 10'000, bytes = rows_of_block * 4;
  auto gpu = session(std::size_t{64} << 20);
  stream_handle of_copies = nullptr;
  {
    const stream_lease s = gpu->lease();  // the next to be lent
    of_copies = s->handle();
  }
  auto rows = source();
  block_feed feed(gpu, rows, type_, {{offsetof(Item, at), type_->field_list[1].of}}, rows_of_block, context_);
  fake_.hold(of_copies);
  std::vector<std::int32_t> found;
  std::thread reader([&] {
    while (const device_block b = feed.next()) add(found, b);
  });
  const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (fake_.bytes_up() < 2 * bytes && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
  EXPECT_EQ(fake_.bytes_up(), 2 * bytes);
  fake_.let_go();
  reader.join();
  EXPECT_TRUE(found == wanted());
  EXPECT_EQ(fake_.bytes_up(), items_.size() * 4);
  const auto counted = gpu->memory().counters();
  EXPECT_LE(counted.peak, 2 * std::bit_ceil(bytes));
  EXPECT_EQ(counted.used, 0u);
}

// Holds what the operator gives to its stream for the second block, and what fetches the results of the first until it is let go.
class second_held final : public block_consumer {
 public:
  second_held(block_consumer& inner, driver_double& fake, vertex_run& run) : inner_(inner), fake_(fake), run_(run) {}
  void take() override {
    if (++blocks_ == 1) {
      {
        const stream_lease s = run_.gpu().lease();  // the next to be lent, as the feed has its own already
        fetches = s->handle();
      }
      fake_.hold(fetches);
    } else if (blocks_ == 2) {
      fake_.hold(run_.on().handle());
      works = run_.on().handle();
    }
    inner_.take();
    ended = blocks_;
  }
  void release() override { inner_.release(); }

  std::atomic<int> ended{0};
  std::atomic<stream_handle> fetches{nullptr}, works{nullptr};

 private:
  block_consumer& inner_;
  driver_double& fake_;
  vertex_run& run_;
  int blocks_ = 0;
};

// Three things at once: a block is worked on, the next one is brought, the results of the one before are fetched.
TEST_F(fed_blocks, come_and_results_go_while_one_is_worked_on) {
  constexpr std::size_t rows_of_block = 10'000, brought = rows_of_block * sizeof(Item), result = rows_of_block * 8;
  fake_.allow_unknown_kernels();
  kernel_cache kernels(
      {.headers = {}, .options = {}, .folder = "", .compile = [](std::string_view source, int) { return image_of(source); }});
  const auto gpu = std::make_shared<gpu_session>(device_, std::size_t{64} << 20, kernels, rows_of_block);
  const auto q = query::from(items_).as_accelerated().select([](auto i) { return i.key + i.at; });
  const auto graph = query::planner::make_machine_graph(q.to_pipe(), "", {.separate_result = true, .gpu_status = ""});
  const query::planner::vertex& v = *graph->top.back();
  std::vector<query::detail::table> results;
  {
    vertex_run run(gpu, v.captures, context_);
    collecting inner(v.inputs.front(), run);
    second_held work(inner, fake_, run);
    std::thread operators([&] {
      block_input(v.inputs.front(), fields_read(v.inputs.front(), true), 8, run).each(work);
      results = std::move(inner).tables();
    });
    const auto wait_until = [patience = std::chrono::steady_clock::now() + std::chrono::minutes(2)](auto reached) {
      while (!reached() && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
      return reached();
    };
    EXPECT_TRUE(wait_until([&] { return work.works.load() != nullptr; }));
    EXPECT_LT(fake_.bytes_arrived(), result) << "the operator waits for the results of the block before";
    EXPECT_TRUE(wait_until([&] { return fake_.bytes_up() >= 3 * brought; })) << "the third block waits for the operator";
    fake_.let_go(work.fetches);
    EXPECT_TRUE(wait_until([&] { return fake_.bytes_arrived() >= result; })) << "the first block's results wait for the operator";
    EXPECT_EQ(work.ended, 1);
    fake_.let_go();
    operators.join();
  }
  std::size_t n = 0;
  for (const auto& t : results) n += t.n;
  EXPECT_EQ(n, items_.size());
  EXPECT_EQ(gpu->memory().counters().used, 0u);
}

TEST_F(fed_blocks, shrink_where_memory_is_short) {
  auto rows = source();
  std::size_t longest;
  EXPECT_TRUE(read(session(100'000), rows, 60'000, longest) == wanted());  // 240,000 bytes a block do not fit
  EXPECT_LE(longest, 25'000u);
}

// Others have most of the memory for a while.
TEST_F(fed_blocks, are_as_long_again_when_memory_is_free_again) {
  constexpr std::size_t most = 8192, block = most * 4;
  auto gpu = session(4 * block);
  const stream_lease s = gpu->lease();
  std::optional<device_buffer> of_others = gpu->memory().allocate(3 * block + block / 2, *s);
  auto rows = source();
  block_feed feed(gpu, rows, type_, {{offsetof(Item, at), type_->field_list[1].of}}, most, context_);
  std::vector<std::int32_t> found;
  std::vector<std::size_t> lengths;
  while (const device_block b = feed.next()) {
    add(found, b);
    lengths.push_back(b.rows->size());
    if (lengths.size() == 2) of_others.reset();
  }
  EXPECT_TRUE(found == wanted());
  ASSERT_GT(lengths.size(), 12u);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_LE(lengths[i], most / 2) << i;
  EXPECT_EQ(*std::max_element(lengths.begin(), lengths.end()), most);
  EXPECT_EQ(gpu->memory().counters().used, 0u);
}

// An operator that cannot hold longer blocks is given them now and then, and each time it takes longer.
TEST_F(fed_blocks, grow_ever_later_where_it_is_in_vain) {
  constexpr std::size_t most = 4096, held = 1024;
  auto gpu = session(std::size_t{64} << 20);
  auto rows = source();
  block_feed feed(gpu, rows, type_, {{offsetof(Item, at), type_->field_list[1].of}}, most, context_);
  std::vector<std::int32_t> found;
  std::vector<int> between = {0};  // blocks that it held
  while (const device_block b = feed.next()) {
    add(found, b);
    if (b.rows->size() > held) {
      feed.give_way(held);
      between.push_back(0);
    } else {
      ++between.back();
    }
  }
  EXPECT_TRUE(found == wanted());
  ASSERT_GE(between.size(), 4u);
  EXPECT_GE(between[2], 16);
  EXPECT_GE(between[3], between[2]);
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
  block_feed feed(gpu, rows, type_, {{offsetof(Item, at), type_->field_list[1].of}}, 40'000, context_);
  std::vector<std::int32_t> found;
  bool gave_way = false;
  while (const device_block b = feed.next()) {
    add(found, b);
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

// Blocks that were given back for being too long are cut, by the thread that brings the next one, while shorter ones are asked for.
TEST_F(fed_blocks, are_whole_where_they_get_shorter_again_and_again) {
  auto gpu = session(std::size_t{64} << 20);
  auto rows = source();
  block_feed feed(gpu, rows, type_, {{offsetof(Item, at), type_->field_list[1].of}}, 40'000, context_);
  std::vector<std::int32_t> found;
  std::size_t most = 40'000;
  while (const device_block b = feed.next()) {
    add(found, b);
    EXPECT_LE(b.rows->size(), most);
    most = std::max<std::size_t>(most * 3 / 4, fewest_rows_of_block);
    feed.give_way(most);
  }
  EXPECT_TRUE(found == wanted());
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
