// Rows to pages and back: what they own comes along, in pages of bounded size, for every kind of row that can travel.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "cpu_engine/exchange_pages.hpp"
#include "cpu_engine/tbb_scheduler.hpp"
#include "cpu_engine/value_bytes.hpp"
#include "runtime/buffer_pool.hpp"

namespace exchange_pages_test {

using namespace query;

struct point { std::int32_t x; double y; };
QUERY_RECORD(point, x, y);
struct parcel {
  std::int64_t id;
  std::string text;
  std::optional<std::string> note;
  std::vector<std::string> words;
  std::array<point, 2> at;
  std::vector<std::int32_t> numbers;
};
QUERY_RECORD(parcel, id, text, note, words, at, numbers);
bool operator==(const point& a, const point& b) { return a.x == b.x && a.y == b.y; }
bool operator==(const parcel& a, const parcel& b) {
  return a.id == b.id && a.text == b.text && a.note == b.note && a.words == b.words && a.at == b.at && a.numbers == b.numbers;
}

class pages : public testing::TestWithParam<int> {
 protected:
  template <class T> detail::table table_of(const std::vector<T>& rows) {
    return {nullptr, rows.data(), rows.size(), ir::describe<T>()};
  }
  template <class T> std::vector<const runtime::row_page*> all(const std::vector<runtime::row_pages>& sent) {
    std::vector<const runtime::row_page*> list;
    for (const auto& s : sent)
      for (const auto& page : s) list.push_back(&page);
    return list;
  }
  // Sends the rows in two parts, and gives what comes of them.
  template <class T> std::vector<T> sent(const std::vector<T>& rows) {
    std::vector<runtime::row_pages> parts;
    detail::table first = table_of(rows), rest = first;
    first.n = rows.size() / 3;
    rest.rows = rows.data() + first.n;
    rest.n = rows.size() - first.n;
    parts.push_back(cpu::write_pages(first, context));
    parts.push_back(cpu::write_pages(rest, context));
    for (const auto& p : parts)
      for (const auto& page : p) EXPECT_TRUE(page.bytes.size() <= runtime::page_bytes || page.rows == 1);
    const auto list = all<T>(parts);
    const detail::table t = cpu::read_pages(ir::describe<T>(), list, context);
    const T* at = static_cast<const T*>(t.rows);
    return std::vector<T>(at, at + t.n);
  }

  cpu::tbb_scheduler threads{GetParam()};
  runtime::buffer_pool pool;
  runtime::cancel_flag stop;
  runtime::run_context context{threads, pool, stop};
};

std::vector<parcel> parcels(std::size_t n) {
  std::vector<parcel> rows;
  for (std::size_t i = 0; i < n; ++i)
    rows.push_back({static_cast<std::int64_t>(i), std::string(i % 70, 'a'), i % 3 ? std::optional(std::string(i % 40, 'b')) : std::nullopt,
                    std::vector<std::string>(i % 4, "word " + std::to_string(i)), {point{1, -0.0}, point{2, 1e300}},
                    std::vector<std::int32_t>(i % 5, 7)});
  return rows;
}

TEST_P(pages, hold_all_that_rows_own) {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3000}}) {
    const auto rows = parcels(n);
    EXPECT_EQ(sent(rows), rows) << n;
  }
  EXPECT_EQ(pool.used(), 0u);
}

TEST_P(pages, of_numbers_are_copies) {
  std::vector<point> rows;
  for (int i = 0; i < 100'000; ++i) rows.push_back({i, i / 3.0});
  EXPECT_EQ(sent(rows), rows);
}

TEST_P(pages, a_row_may_be_larger_than_a_page) {
  const std::vector<std::string> rows = {"short", std::string(3 * runtime::page_bytes, 'x'), "", std::string(runtime::page_bytes, 'y')};
  EXPECT_EQ(sent(rows), rows);
}

TEST_P(pages, are_not_made_after_a_stop) {
  const auto rows = parcels(3000);
  std::vector<runtime::row_pages> parts;
  parts.push_back(cpu::write_pages(table_of(rows), context));
  const auto list = all<parcel>(parts);
  stop.cancel();
  EXPECT_THROW((void)cpu::read_pages(ir::describe<parcel>(), list, context), cancelled);
  EXPECT_THROW((void)cpu::write_pages(table_of(rows), context), cancelled);
}

INSTANTIATE_TEST_SUITE_P(threads, pages, testing::Values(1, 4));

TEST(pages_of_rows, need_a_description) {
  EXPECT_TRUE(cpu::has_bytes(*ir::describe<parcel>()));
  EXPECT_FALSE(cpu::has_bytes(*ir::describe<std::unique_ptr<int>>()));
}

}  // namespace exchange_pages_test
