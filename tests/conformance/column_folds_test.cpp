// Folds over columns: kernels read a column where it lies, behind predicates of numbers, and give the same bits as the compiled loops over
// records.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "conformance/engines.hpp"

// Predicates below compare numbers of different types, as C++ converts them.
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wconversion"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wimplicit-int-float-conversion"
#endif

namespace conformance {
namespace {

enum class colour : std::uint8_t { red, green, blue };

struct mixture {
  bool flag;
  colour hue;
  std::int8_t i8;
  std::int16_t i16;
  std::int32_t i32;
  std::int64_t i64;
  std::uint8_t u8;
  std::uint16_t u16;
  std::uint32_t u32;
  std::uint64_t u64;
  float f32;
  double f64;
  std::optional<std::int32_t> maybe;
};
QUERY_RECORD(mixture, flag, hue, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, maybe);

struct quote {
  std::int32_t key, unread;
  double price, late;
};
QUERY_RECORD(quote, key, unread, price, late);

std::uint64_t mixed(std::uint64_t i) {
  i = (i + 1) * 0x9E3779B97F4A7C15u;
  i ^= i >> 29;
  i *= 0xBF58476D1CE4E5B9u;
  return i ^ i >> 32;
}

// Whole ranges of integers, and one floating-point number in 16 is none, infinite, or a zero with a sign.
std::vector<mixture> mixtures(std::size_t n) {
  std::vector<mixture> rows;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t m = mixed(i), k = mixed(i + n);
    mixture x{m % 3 == 0, static_cast<colour>(m / 3 % 3), static_cast<std::int8_t>(m >> 8), static_cast<std::int16_t>(m >> 16),
              static_cast<std::int32_t>(m >> 32), static_cast<std::int64_t>(k), static_cast<std::uint8_t>(k >> 8),
              static_cast<std::uint16_t>(k >> 16), static_cast<std::uint32_t>(k >> 32), m,
              static_cast<float>(static_cast<std::int32_t>(k)) / 3, static_cast<double>(static_cast<std::int64_t>(m)) / 7, {}};
    if (m % 5) x.maybe = x.i32;
    if (k % 16 == 0) {
      constexpr double infinity = std::numeric_limits<double>::infinity(), none = std::numeric_limits<double>::quiet_NaN();
      const double odd[] = {none, infinity, -infinity, -0.0, 0.0};
      x.f64 = odd[k / 16 % 5];
      x.f32 = static_cast<float>(odd[k / 80 % 5]);
    }
    if (k % 64 == 1) {
      x.i32 = std::numeric_limits<std::int32_t>::min();
      x.i64 = std::numeric_limits<std::int64_t>::max();
      x.u32 = std::numeric_limits<std::uint32_t>::max();
    }
    rows.push_back(x);
  }
  return rows;
}

template <class T> std::string bits(const T& x) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(x)) return "nan";
    return std::to_string(std::bit_cast<std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>(x)) + " " + std::to_string(x);
  } else {
    return std::to_string(x);
  }
}
template <class T> std::string bits(const std::optional<T>& x) { return x ? bits(*x) : "none"; }

template <class Q> std::string folds_of(const Q& q) {
  return "count " + std::to_string(q.count()) + ", sum " + bits(q.sum()) + ", min " + bits(q.min()) + ", max " + bits(q.max()) +
         ", average " + bits(q.average());
}

// Folds of `value` over columns and over records, whose loops are compiled. Interpreted sums, and a GPU's, are in an order of their own.
template <class C, class R, class P, class V> void folds_agree(const C& columns, const R& records, P where, V value) {
  EXPECT_EQ(folds_of(columns.where(where).select(value)), folds_of(records.where(where).select(value)));
  EXPECT_EQ(columns.where(where).count(), records.where(where).count());
}
bool compiles(const engine_config& e) { return e.column == std::string_view("cpu"); }

const std::vector<std::size_t>& lengths() {
  static const std::vector<std::size_t> all = {0, 1, 15, 16, 17, 511, 512, 513, 1023, 1024, 1025, 8191, 8193, 65535, 65536, 65537, 150000};
  return all;
}

CONFORMS(column_folds, same_bits_as_loops_over_records, "where", "count", "sum", "min", "max", "average", "columns") {
  if (!compiles(e)) return;
  for (const std::size_t n : lengths()) {
    SCOPED_TRACE(n);
    const std::vector<mixture> rows = mixtures(n);
    const auto fields = query::from(rows).to_vectors();
    const auto c = source(e, query::columns(fields));
    const auto r = source(e, rows);
    const double limit = -1e9;
    folds_agree(c, r, [=](auto t) { return t.i16 < 1000 && t.f64 > limit; }, [](auto t) { return t.f64; });
    folds_agree(c, r, [](auto t) { return t.flag || !(t.f32 < 3.0f); }, [](auto t) { return t.f32; });
    folds_agree(c, r, [](auto t) { return t.u32 > t.i32; }, [](auto t) { return t.i64; });
    folds_agree(c, r, [](auto t) { return t.hue == colour::green; }, [](auto t) { return t.i32; });
    folds_agree(c, r, [](auto t) { return t.i8 >= t.u8 && t.f32 == t.f32; }, [](auto t) { return t.u64; });
    folds_agree(c, r, [](auto t) { return t.f64 != t.f32; }, [](auto t) { return t.u8; });
    folds_agree(c, r, [](auto t) { return (t.u16 <= 40000 && t.i64 > 0) || (t.flag && t.i8 < 0); }, [](auto t) { return t.flag; });
    folds_agree(c, r, [](auto t) { return t.i64 < t.f64; }, [](auto t) { return t.i8; });
    folds_agree(c, r, [](auto t) { return t.i32 < 0 ? t.u8 < 10 : t.u8 > 200; }, [](auto t) { return t.i16; });
    folds_agree(c, r, [](auto t) { return t.f64 > 1 && !(t.i32 < 3) && t.u8 != 7; }, [](auto t) { return t.f64; });
    folds_agree(c, r, [](auto t) { return !(t.f64 > 1) || !(t.i32 < 3 && t.flag); }, [](auto t) { return t.f32; });
    folds_agree(c, r, [](auto t) { return t.maybe > 0; }, [](auto t) { return t.u16; });
    folds_agree(c, r, [](auto t) { return t.u64 > 1; }, [](auto t) { return t.u32; });
    folds_agree(c, r, [](auto t) { return t.u64 < 1; }, [](auto t) { return t.f64; });
    EXPECT_EQ(folds_of(c.select([](auto t) { return t.f64; })), folds_of(r.select([](auto t) { return t.f64; })));
    EXPECT_EQ(folds_of(c.select([](auto t) { return query::cast<double>(t.i64); })),
              folds_of(r.select([](auto t) { return query::cast<double>(t.i64); })));
    const auto renamed = [](auto t) { return std::pair(t.f64, t.i32); };
    const auto positive = [](auto p) { return p.second > 0; };
    EXPECT_EQ(bits(c.where([](auto t) { return t.flag; }).select(renamed).where(positive).sum([](auto p) { return p.first; })),
              bits(r.where([](auto t) { return t.flag; }).select(renamed).where(positive).sum([](auto p) { return p.first; })));
  }
}

CONFORMS(column_folds, filters_before_columns_and_aggregates, "where", "select", "to_columns", "aggregate", "columns") {
  for (const std::size_t n : lengths()) {
    SCOPED_TRACE(n);
    const std::vector<mixture> rows = mixtures(n);
    const auto fields = query::from(rows).to_vectors();
    const auto c = source(e, query::columns(fields));
    for (const std::int32_t least : {std::numeric_limits<std::int32_t>::min(), 0, std::numeric_limits<std::int32_t>::max()}) {
      std::vector<std::pair<std::int32_t, double>> wanted, found;
      std::int64_t sum = 0;
      for (const mixture& m : rows)
        if (m.i32 >= least && m.u16 < 60000) wanted.emplace_back(m.i32, m.f64), sum += m.i32;
      const auto kept = c.where([=](auto t) { return t.i32 >= least && t.u16 < 60000; });
      const auto chunks = kept.to_columns();
      for (const auto& chunk : chunks)
        for (std::size_t i = 0; i < chunk.size(); ++i) found.emplace_back(chunk.template get<4>()[i], chunk.template get<11>()[i]);
      ASSERT_EQ(found.size(), wanted.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i].first, wanted[i].first);
        ASSERT_EQ(bits(found[i].second), bits(wanted[i].second));
      }
      EXPECT_EQ(kept.sum([](auto t) { return t.i32; }), sum);
      EXPECT_EQ(kept.aggregate([](auto g) { return g.sum([](auto t) { return t.i32; }); }).to_vector(), std::vector<std::int64_t>{sum});
    }
  }
}

CONFORMS(column_folds, captures_and_short_circuits, "where", "sum", "count", "columns") {
  const std::vector<mixture> rows = mixtures(5000);
  const auto fields = query::from(rows).to_vectors();
  const auto c = source(e, query::columns(fields));
  const auto counted = [&](auto test) { return std::count_if(rows.begin(), rows.end(), test); };
  std::int32_t least = 4;
  const auto above = c.where([&](auto t) { return t.i8 >= least && t.flag; });
  EXPECT_EQ(above.count(), counted([&](const mixture& t) { return t.i8 >= least && t.flag; }));
  least = -100;
  EXPECT_EQ(above.count(), counted([&](const mixture& t) { return t.i8 >= least && t.flag; }));
  EXPECT_EQ(c.where([](auto t) { return t.i8 != 0 && 100 / t.i8 > 20; }).count(),
            counted([](const mixture& t) { return t.i8 != 0 && 100 / t.i8 > 20; }));
  EXPECT_EQ(c.where([](const mixture& t) { return t.i8 > 3; }).count(), counted([](const mixture& t) { return t.i8 > 3; }));
  EXPECT_EQ(c.where([](const mixture&, std::int64_t i) { return i % 7 == 3; }).where([](auto t) { return t.flag; }).count(), [&] {
    std::int64_t n = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) n += i % 7 == 3 && rows[i].flag;
    return n;
  }());
}

CONFORMS(column_folds, plans_name_the_kernels, "explain", "columns") {
  if (!compiles(e)) return;
  const std::vector<mixture> rows = mixtures(10);
  const auto fields = query::from(rows).to_vectors();
  const auto c = source(e, query::columns(fields));
  const auto kernels = [](const auto& q) { return q.explain("sum").find("kernels over columns") != std::string::npos; };
  const auto value = [](auto t) { return t.f64; };
  EXPECT_TRUE(kernels(c.where([](auto t) { return t.f64 > 1 && !(t.i32 < 3) && t.u8 != 7; }).select(value)));
  EXPECT_TRUE(kernels(c.select(value)));
  // Can fail, is computed, or is no number; records stay with the compiled loop.
  EXPECT_FALSE(kernels(c.where([](auto t) { return t.i8 != 0 && 100 / t.i8 > 20; }).select(value)));
  EXPECT_FALSE(kernels(c.where([](auto t) { return t.maybe.has_value(); }).select(value)));
  EXPECT_FALSE(kernels(c.select([](auto t) { return t.f64 * t.f64; })));
  EXPECT_FALSE(kernels(c.where([](const mixture& t) { return t.flag; }).select(value)));
  EXPECT_FALSE(kernels(source(e, rows).where([](auto t) { return t.f64 > 1; }).select(value)));
}

// Pages of a column that the fold does not need, and those of rows that a first condition rules out, are never read.
CONFORMS(column_folds, touch_no_other_column, "where", "sum", "columns") {
  if (!compiles(e) || in_processes(e)) return;  // a column that is read is sent whole
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  constexpr std::size_t n = 200'000;
  std::vector<std::int32_t> key(n), unread(n);
  std::vector<double> price(n, 0.5), late(n, 1.0);
  for (std::size_t i = 0; i < n; ++i) key[i] = static_cast<std::int32_t>(i);
  struct closed {
    void* at;
    std::size_t bytes;
    closed(void* from, void* end, std::size_t page) {
      const auto begin = (reinterpret_cast<std::uintptr_t>(from) + page - 1) / page * page;
      at = reinterpret_cast<void*>(begin);
      bytes = reinterpret_cast<std::uintptr_t>(end) / page * page - begin;
      EXPECT_EQ(::mprotect(at, bytes, PROT_NONE), 0);
    }
    ~closed() { ::mprotect(at, bytes, PROT_READ | PROT_WRITE); }
  };
  const closed of_unread(unread.data(), unread.data() + n, page);
  // All rows that pass the first condition lie before it.
  const closed of_late(late.data() + n / 2, late.data() + n, page);
  const auto q = on(e, query::from(query::columns<quote>(key, unread, price, late)));
  const auto early = q.where([](auto t) { return t.key < 50'000 && t.late > 0.5; });
  EXPECT_EQ(early.sum([](auto t) { return t.price; }), 25'000);
  EXPECT_EQ(early.count(), 50'000);
  EXPECT_EQ(q.sum([](auto t) { return t.price; }), 100'000);
}

}  // namespace
}  // namespace conformance
