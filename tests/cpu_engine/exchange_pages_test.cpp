// Rows to pages and back: what they own comes along, in pages of bounded size, for every kind of row that can travel.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
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

// Rows of the same values in memory with other bytes between them.
struct small { std::int8_t a; std::optional<std::int32_t> b; std::int16_t c; };
QUERY_RECORD(small, a, b, c);
struct loose {
  std::int8_t first;
  std::optional<std::int64_t> number;
  std::array<std::optional<small>, 3> places;
  std::tuple<std::int8_t, double, std::int16_t> three;
  std::optional<std::optional<std::int16_t>> nested;
  bool last;
};
QUERY_RECORD(loose, first, number, places, three, nested, last);
struct loose_texts {
  std::string text;
  std::vector<small> list;
  std::optional<std::vector<loose>> more;
  std::array<loose, 2> two;
};
QUERY_RECORD(loose_texts, text, list, more, two);

bool operator==(const small& a, const small& b) { return meta<small>::fields(a) == meta<small>::fields(b); }
bool operator==(const loose& a, const loose& b) { return meta<loose>::fields(a) == meta<loose>::fields(b); }

small small_of(int i) {
  return {static_cast<std::int8_t>(i), i % 2 ? std::optional(i) : std::nullopt, static_cast<std::int16_t>(i)};
}
void set(loose& x, int i) {
  x.first = static_cast<std::int8_t>(i);
  if (i % 3) x.number.emplace(i);
  else x.number.reset();
  for (std::size_t k = 0; k < 3; ++k) {
    if ((static_cast<std::size_t>(i) + k) % 2) x.places[k].emplace(small_of(i));
    else x.places[k].reset();
  }
  std::get<0>(x.three) = std::int8_t{1};
  std::get<1>(x.three) = i / 3.0;
  std::get<2>(x.three) = std::int16_t{2};
  if (i % 5 == 0) x.nested.reset();
  else if (i % 5 == 1) x.nested.emplace();
  else x.nested.emplace(std::int16_t{7});
  x.last = i % 2;
}
void set(loose_texts& x, int i) {
  x.text.assign(static_cast<std::size_t>(i % 30), 'x');
  x.list.resize(static_cast<std::size_t>(i % 4));
  for (small& s : x.list) {
    s.a = 3;
    s.b.reset();
    s.c = 4;
  }
  if (i % 2) {
    x.more.emplace(2);
    for (loose& l : *x.more) set(l, i);
  }
  for (loose& l : x.two) set(l, i);
}

template <class T> std::vector<std::byte> bytes_of_pages(runtime::run_context& context, int fill) {
  constexpr std::size_t n = 500;
  runtime::buffer memory = context.pool.allocate(n * sizeof(T));
  std::memset(memory.data(), fill, memory.size());
  T* const rows = memory.as<T>();
  for (std::size_t i = 0; i < n; ++i) {
    ::new (static_cast<void*>(rows + i)) T;
    set(rows[i], static_cast<int>(i));
  }
  const detail::table all{nullptr, rows, n, ir::describe<T>()};
  std::vector<std::byte> bytes;
  for (const auto& page : cpu::write_pages(all, context)) {
    EXPECT_TRUE(page.repeatable);
    bytes.insert(bytes.end(), page.bytes.template as<const std::byte>(), page.bytes.template as<const std::byte>() + page.bytes.size());
  }
  const detail::table back = [&] {
    const auto sent = cpu::write_pages(all, context);
    std::vector<const runtime::row_page*> list;
    for (const auto& page : sent) list.push_back(&page);
    return cpu::read_pages(ir::describe<T>(), list, context);
  }();
  const T* const read = static_cast<const T*>(back.rows);
  for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(meta<T>::fields(read[i]), meta<T>::fields(rows[i]));
  std::destroy_n(rows, n);
  return bytes;
}
TEST_P(pages, have_zeros_where_no_value_decides) {
  EXPECT_EQ(bytes_of_pages<loose>(context, 0xab), bytes_of_pages<loose>(context, 0x5d));
  EXPECT_EQ(bytes_of_pages<loose_texts>(context, 0xab), bytes_of_pages<loose_texts>(context, 0x5d));
}

TEST_P(pages, keep_the_bits_of_numbers) {
  const std::vector<double> rows = {-0.0, 0.0, std::bit_cast<double>(0x7ff8000000000123), std::bit_cast<double>(0xfff0000000000001)};
  const auto back = sent(rows);
  EXPECT_EQ(std::memcmp(back.data(), rows.data(), rows.size() * sizeof(double)), 0);
}

INSTANTIATE_TEST_SUITE_P(threads, pages, testing::Values(1, 4));

TEST(pages_of_rows, need_a_description) {
  EXPECT_TRUE(cpu::has_bytes(*ir::describe<parcel>()));
  EXPECT_FALSE(cpu::has_bytes(*ir::describe<std::unique_ptr<int>>()));
}

}  // namespace exchange_pages_test
