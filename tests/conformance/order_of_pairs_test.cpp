// Rows of a number and little beside it, which the GPU sorts without their numbers: any width of both, both directions, equal keys,
// NaN and -0.0, as they lie and behind a filter, few of them and enough for it.
#include <cmath>
#include <limits>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

template <class Key, class Rest> struct pair_row {
  Key key;
  Rest rest;
  bool operator==(const pair_row&) const = default;
};
struct flags {
  bool up;
  std::int16_t size;
  std::uint8_t kind;
  bool operator==(const flags&) const = default;
};

using long_and_id = pair_row<std::int64_t, std::uint32_t>;
using price_and_id = pair_row<double, std::uint32_t>;
using id_and_price = pair_row<std::uint32_t, double>;
using real_and_id = pair_row<float, std::int32_t>;
using price_and_two = pair_row<double, std::array<std::int32_t, 2>>;
using int_and_flags = pair_row<std::int32_t, flags>;
QUERY_RECORD(flags, up, size, kind);
QUERY_RECORD(long_and_id, key, rest);
QUERY_RECORD(price_and_id, key, rest);
QUERY_RECORD(id_and_price, key, rest);
QUERY_RECORD(real_and_id, key, rest);
QUERY_RECORD(price_and_two, key, rest);
QUERY_RECORD(int_and_flags, key, rest);

// The i-th of the rows tells its number in what lies beside the key; of `many` keys, negative ones too where there are.
template <class Row, class Rest> std::vector<Row> rows_of(std::size_t n, std::uint32_t many, Rest rest) {
  std::vector<Row> rows(n);
  std::uint64_t x = n;
  for (std::size_t i = 0; i < n; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    rows[i].key = static_cast<decltype(Row::key)>(static_cast<std::int64_t>((x >> 33) % many) - many / 2);
    rows[i].rest = rest(static_cast<std::uint32_t>(i));
  }
  return rows;
}

template <class Row> void check_order(const engine_config& e, const std::vector<Row>& rows) {
  SCOPED_TRACE(rows.size());
  const auto key = [](auto r) { return r.key; };
  std::vector<Row> up = rows, down = rows;
  std::stable_sort(up.begin(), up.end(), [](const Row& a, const Row& b) { return before(a.key, b.key, false, false); });
  std::stable_sort(down.begin(), down.end(), [](const Row& a, const Row& b) { return before(a.key, b.key, true, false); });
  EXPECT_ROWS(source(e, rows).order_by(key).to_vector(), up);
  EXPECT_ROWS(source(e, rows).cached().order_by_descending(key).to_vector(), down);
  const std::size_t most = rows.size() - rows.size() / 3;  // more than are selected first
  std::vector<Row> first(up.begin(), up.begin() + static_cast<std::ptrdiff_t>(most));
  EXPECT_ROWS(source(e, rows).order_by(key).take(most).to_vector(), first);
  const auto odd = [](auto k) { return k * 2 != 6; };
  std::erase_if(up, [&](const Row& r) { return !odd(r.key); });
  EXPECT_ROWS(source(e, rows).where([=](auto r) { return odd(r.key); }).order_by(key).to_vector(), up);
}

template <class Row, class Rest> void check_rows(const engine_config& e, const char* what, Rest rest) {
  SCOPED_TRACE(what);
  for (const std::size_t n : {0, 1, 15, 16, 33, 3000}) {
    check_order(e, rows_of<Row>(n, 100, rest));
    check_order(e, rows_of<Row>(n, 1, rest));
  }
}

CONFORMS(order_of_pairs, any_widths, "order_by", "order_by_descending", "take", "where") {
  check_rows<long_and_id>(e, "8 and 4 bytes", [](std::uint32_t i) { return i; });
  check_rows<id_and_price>(e, "4 and 8 bytes", [](std::uint32_t i) { return -0.25 * i; });
  check_rows<real_and_id>(e, "4 and 4 bytes", [](std::uint32_t i) { return -static_cast<std::int32_t>(i); });
  check_rows<price_and_two>(e, "8 and 8 bytes", [](std::uint32_t i) {
    return std::array<std::int32_t, 2>{static_cast<std::int32_t>(i), -static_cast<std::int32_t>(i)};
  });
  check_rows<int_and_flags>(e, "a record of small fields", [](std::uint32_t i) {
    return flags{(i & 1) != 0, static_cast<std::int16_t>(i), static_cast<std::uint8_t>(i >> 8)};
  });
}

CONFORMS(order_of_pairs, keys_that_are_equal_but_not_the_same, "order_by", "order_by_descending", "take", "where") {
  auto rows = rows_of<price_and_id>(3000, 50, [](std::uint32_t i) { return i; });
  for (std::size_t i = 0; i < rows.size(); i += 7) rows[i].key = i % 2 ? -0.0 : 0.0;
  const auto key = [](auto r) { return r.key; };
  for (const bool nans : {false, true}) {
    if (nans)
      for (std::size_t i = 3; i < rows.size(); i += 11) rows[i].key = std::copysign(std::nan(""), i % 2 ? 1.0 : -1.0);
    std::vector<price_and_id> sorted = rows;
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return before(a.key, b.key, false, false); });
    const auto got = source(e, rows).order_by(key).to_vector();
    ASSERT_EQ(got.size(), sorted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].rest, sorted[i].rest) << i;
      ASSERT_EQ(std::signbit(got[i].key), std::signbit(sorted[i].key)) << i;
      ASSERT_EQ(std::isnan(got[i].key), std::isnan(sorted[i].key)) << i;
    }
  }
}

// As many as the GPU carries words for without being told to.
CONFORMS(order_of_pairs, many_rows, "order_by", "order_by_descending", "take", "where") {
  check_order(e, rows_of<price_and_id>((std::size_t{1} << 21) + 77, 1u << 30, [](std::uint32_t i) { return i; }));
}

}  // namespace
}  // namespace conformance
