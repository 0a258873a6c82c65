// Pages that leave memory for a file while nobody reads them, and come back as they were.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include <query/errors.hpp>

#include "runtime/page_store.hpp"

namespace page_store_test {
namespace {

using namespace query;
using runtime::page_store;

constexpr std::size_t mib = std::size_t{1} << 20;

runtime::row_pages pages(runtime::buffer_pool& pool, std::size_t n, unsigned seed) {
  runtime::row_pages all(n);
  for (std::size_t i = 0; i < n; ++i) {
    all[i].rows = i + 1;
    all[i].bytes = pool.allocate(runtime::page_bytes);
    std::memset(all[i].bytes.data(), static_cast<int>(seed + i), all[i].bytes.size());
  }
  return all;
}
void expect_pages(const page_store::handle& b, std::size_t n, unsigned seed) {
  EXPECT_FALSE(page_store::read(b, n));
  for (std::size_t i = 0; i < n; ++i) {
    const auto page = page_store::read(b, i);
    ASSERT_TRUE(page);
    const runtime::row_page& p = *page;
    EXPECT_EQ(p.rows, i + 1);
    ASSERT_EQ(p.bytes.size(), runtime::page_bytes);
    const auto bytes = p.bytes.span<const unsigned char>();
    for (const std::size_t at : {std::size_t{0}, bytes.size() / 2, bytes.size() - 1})
      EXPECT_EQ(bytes[at], static_cast<unsigned char>(seed + i));
  }
}

TEST(page_store, holds_more_than_memory_has_room_for) {
  runtime::buffer_pool pool(8 * mib);
  runtime::temp_space temp("");
  page_store store(pool, &temp);
  std::vector<page_store::handle> blocks;
  for (unsigned b = 0; b < 16; ++b) blocks.push_back(store.make(pages(pool, 8, b)));  // 2 MiB each
  EXPECT_GT(temp.used(), 0u);
  for (int round = 0; round < 2; ++round)
    for (unsigned b = 0; b < 16; ++b) expect_pages(blocks[b], 8, b);
  blocks.clear();
  EXPECT_EQ(pool.used(), 0u);
  EXPECT_EQ(temp.used(), 0u);
}

TEST(page_store, adds_pages_to_those_that_have_left) {
  runtime::buffer_pool pool(4 * mib);
  runtime::temp_space temp("");
  page_store store(pool, &temp);
  const auto block = store.make();
  for (unsigned i = 0; i < 12; ++i) {
    auto one = pages(pool, 1, i);
    one.front().rows = i + 1;
    store.add(block, std::move(one));
    (void)pool.allocate(3 * mib);  // the block goes to the file
  }
  expect_pages(block, 12, 0);
}

TEST(page_store, keeps_what_somebody_reads) {
  runtime::buffer_pool pool(4 * mib);
  runtime::temp_space temp("");
  page_store store(pool, &temp);
  const auto block = store.make(pages(pool, 8, 3));
  {
    std::vector<std::shared_ptr<const runtime::row_page>> read;
    for (std::size_t i = 0; i < 8; ++i) read.push_back(page_store::read(block, i));
    EXPECT_THROW((void)pool.allocate(3 * mib), resource_error);
    EXPECT_EQ(read.front()->bytes.span<const unsigned char>()[7], 3);
  }
  EXPECT_NO_THROW((void)pool.allocate(3 * mib));
  expect_pages(block, 8, 3);
}

// A block that is larger than the memory, page by page; and one that is read while the rest of it leaves.
TEST(page_store, reads_some_of_a_block_while_the_rest_is_in_files) {
  runtime::buffer_pool pool(4 * mib);
  runtime::temp_space temp("");
  page_store store(pool, &temp);
  const auto block = store.make();
  for (unsigned i = 0; i < 40; ++i) {
    auto one = pages(pool, 1, i);
    one.front().rows = i + 1;
    store.add(block, std::move(one));
  }
  expect_pages(block, 40, 0);
  const auto first = page_store::read(block, 0), last = page_store::read(block, 39);
  EXPECT_NO_THROW((void)pool.allocate(2 * mib));
  EXPECT_EQ(first->bytes.span<const unsigned char>()[7], 0);
  EXPECT_EQ(last->bytes.span<const unsigned char>()[7], 39);
  expect_pages(block, 40, 0);
}

TEST(page_store, shares_memory_between_readers) {
  runtime::buffer_pool pool(64 * mib), large(std::size_t{64} << 30), endless;
  runtime::temp_space temp("");
  EXPECT_EQ(page_store(pool, &temp).share_of(1), 4 * mib);
  EXPECT_EQ(page_store(pool, &temp).share_of(4), 1 * mib);
  EXPECT_EQ(page_store(pool, &temp).share_of(1000), runtime::page_bytes);
  EXPECT_EQ(page_store(large, &temp).share_of(1), 16 * mib);
  EXPECT_GT(page_store(endless, &temp).share_of(1000), std::size_t{1} << 40);
}

TEST(page_store, says_that_the_disk_is_full) {
  runtime::buffer_pool pool(4 * mib);
  runtime::temp_space temp("", 1000);
  page_store store(pool, &temp);
  const auto block = store.make(pages(pool, 8, 3));
  EXPECT_THROW((void)pool.allocate(3 * mib), resource_error);
  expect_pages(block, 8, 3);  // it is still here
}

TEST(page_store, without_a_limit_nothing_leaves) {
  runtime::buffer_pool pool;
  runtime::temp_space temp("");
  page_store store(pool, &temp);
  std::vector<page_store::handle> blocks;
  for (unsigned b = 0; b < 16; ++b) blocks.push_back(store.make(pages(pool, 8, b)));
  EXPECT_EQ(temp.used(), 0u);
}

TEST(page_store, serves_several_threads) {
  runtime::buffer_pool pool(8 * mib);
  runtime::temp_space temp("");
  page_store store(pool, &temp);
  std::vector<page_store::handle> blocks;
  for (unsigned b = 0; b < 8; ++b) blocks.push_back(store.make(pages(pool, 4, b)));  // 1 MiB each
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 60; ++i) expect_pages(blocks[(i * 5 + t) % 8], 4, (i * 5 + t) % 8);
    });
  threads.emplace_back([&] {
    for (unsigned i = 0; i < 60; ++i) (void)pool.allocate(2 * mib);
  });
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace page_store_test
