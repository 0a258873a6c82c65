// What rows in buffers own on the heap, as the session's memory counts it.
#include "cpu_engine/heap_charge.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include <query/errors.hpp>

#include "cpu_engine/rows_buffer.hpp"

namespace query::tests {
namespace {

using cpu::rows_buffer;
using runtime::buffer_pool;

constexpr std::size_t mib = std::size_t{1} << 20, string_bytes = 10'000, block = 10'016;
const ir::type* const type = ir::describe<std::string>();
const std::vector<std::string> strings(100, std::string(string_bytes, 'x'));

TEST(heap_charge, counts_with_the_rows_of_a_buffer) {
  buffer_pool pool(16 * mib);
  {
    rows_buffer rows(type, pool);
    rows.append_rows(strings.data(), strings.size());
    EXPECT_EQ(rows.heap().bytes(), strings.size() * block);
    EXPECT_GE(pool.used(), strings.size() * string_bytes);
    rows_buffer others = std::move(rows);
    EXPECT_GE(pool.used(), strings.size() * string_bytes);
    others.clear();
    EXPECT_LT(pool.used(), mib / 2);
    others.append_rows(strings.data(), strings.size());
  }
  EXPECT_EQ(pool.used(), 0u);
}

TEST(heap_charge, goes_where_the_rows_go) {
  buffer_pool pool(16 * mib);
  rows_buffer from(type, pool), to(type, pool);
  from.append_rows(strings.data(), strings.size());
  const std::size_t used = pool.used();
  to.take_all(from);
  EXPECT_EQ(from.heap().bytes(), 0u);
  EXPECT_EQ(to.heap().bytes(), strings.size() * block);
  EXPECT_LT(pool.used(), used + mib / 2);
  const detail::table rows = std::move(to).to_table();
  ASSERT_NE(rows_buffer::owner_of(rows), nullptr);
  rows_buffer again(type, pool);
  again.take_table(rows);
  EXPECT_EQ(again.heap().bytes(), strings.size() * block);
  EXPECT_EQ(rows_buffer::owner_of(rows)->heap().bytes(), 0u);
}

TEST(heap_charge, leaves_a_buffer_as_it_was_told_where_there_is_no_room) {
  buffer_pool pool(mib / 2);
  {
    rows_buffer rows(type, pool);
    EXPECT_THROW(rows.append_rows(strings.data(), strings.size()), resource_error);
    EXPECT_GT(rows.size(), 0u);
    EXPECT_LT(rows.size(), strings.size());
    EXPECT_LE(pool.used(), mib / 2);
  }
  EXPECT_EQ(pool.used(), 0u);
}

TEST(heap_charge, asks_for_nothing_where_little_is_owned_or_nothing_is_limited) {
  buffer_pool small(16 * mib), unlimited;
  rows_buffer few(type, small), all(type, unlimited);
  few.append_rows(strings.data(), 1);
  all.append_rows(strings.data(), strings.size());
  EXPECT_LT(small.used(), std::size_t{64} << 10);
  EXPECT_LT(unlimited.used(), mib / 2);
}

}  // namespace
}  // namespace query::tests
