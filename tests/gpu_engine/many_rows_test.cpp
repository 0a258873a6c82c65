// More rows than 32 bits can number, on a GPU that has memory for them: counts, sums, groups, positions, joins and sets of 2^32 rows
// of a byte, sorts and build sides of 2^30 rows and some. What they must give follows from how the rows are made. Skipped, loudly,
// where there is no GPU or too little memory; tests/conformance/wide_row_numbers_test.cpp runs the same kernels over few rows.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include <query/query.hpp>

#include "gpu_engine/device.hpp"
#include "planned_there.hpp"

namespace {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u64 gigabyte = u64{1} << 30;
constexpr u64 period = 1'000'003;  // prime: rows that are a power of two apart differ

struct pair_of_bytes {
  u8 low, high;
};
QUERY_RECORD(pair_of_bytes, low, high);
struct entry {
  u32 key;
  u8 a, b, c, d;
};
QUERY_RECORD(entry, key, a, b, c, d);

u64 mixed(u64 x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  return x ^ x >> 33;
}

// Memory that nobody has written: a vector would be filled twice.
template <class T> class many {
 public:
  template <class F> many(u64 n, F f) : n_(n), rows_(new T[n]) {
    const u64 workers = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> threads;
    for (u64 w = 0; w < workers; ++w)
      threads.emplace_back([&, w] {
        T* const rows = rows_.get();
        for (u64 i = n * w / workers, end = n * (w + 1) / workers; i < end; ++i) rows[i] = f(i);
      });
    for (std::thread& t : threads) t.join();
  }
  std::span<const T> rows() const { return {rows_.get(), n_}; }

 private:
  u64 n_;
  std::unique_ptr<T[]> rows_;
};

// One of these tests at a time on a machine, in whichever process: each looks what is free and then takes most of it, and who finds less
// goes on in blocks of whatever is left, for many minutes. The lock ends with the process.
class alone {
 public:
  alone() : file_(::open((std::filesystem::temp_directory_path() / "query_many_rows.lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666)) {
    if (file_ >= 0) ::flock(file_, LOCK_EX);
  }
  ~alone() {
    if (file_ >= 0) ::close(file_);
  }
  alone(const alone&) = delete;
  alone& operator=(const alone&) = delete;

 private:
  const int file_;
};

class many_rows : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why = session_.gpu_status();
    if (!why.empty()) GTEST_SKIP() << "SKIPPED: no GPU: " << why;
    begin_ = std::chrono::steady_clock::now();
  }
  void TearDown() override {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin_;
    if (!IsSkipped()) std::printf("many rows: %.1f s\n", took.count());
  }
  // Why this machine has too little memory; "": it has enough.
  static std::string lacking(u64 host, u64 device) {
    const u64 free = static_cast<u64>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<u64>(sysconf(_SC_PAGESIZE));
    const auto too_small = [](const char* whose, u64 n, u64 wanted) {
      return std::to_string(n / gigabyte) + " GB of the " + whose + "'s memory are free; the test wants " +
             std::to_string(wanted / gigabyte);
    };
    if (free < host) return too_small("host", free, host);
    const auto* d = query::gpu_engine::device::first();
    const query::gpu_engine::scoped_context here(*d);
    std::size_t left = 0, total = 0;
    QUERY_CUDA(d->calls(), cuMemGetInfo, &left, &total);
    return left < device ? too_small("GPU", left, device) : std::string();
  }
  // It ran there, and in one piece: blocks would have few rows each.
  void in_one_piece(const std::string& plan) {
    EXPECT_TRUE(planned_there(plan));
    EXPECT_EQ(plan.find("in the last run"), std::string::npos) << plan;
    EXPECT_EQ(plan.find("the last run went"), std::string::npos) << plan;
  }

  const alone alone_;  // gives way after the session has
  query::Session session_{{.threads = 0, .gpu_min_rows = 0}};
  std::chrono::steady_clock::time_point begin_;
};

// Byte i: one of 16 values, but for few marks at rows that 31 and 32 bits end between.
constexpr u64 bytes = (u64{1} << 32) + 1001;
constexpr u8 mark = 255;
constexpr std::array<u64, 6> marked = {17, (u64{1} << 31) - 1, u64{1} << 31, (u64{1} << 32) - 1, (u64{1} << 32) + 5, bytes - 1};
u8 byte_of(u64 i) { return static_cast<u8>(i % period % 16); }

TEST_F(many_rows, of_a_byte_are_counted_grouped_found_and_joined) {
  if (const std::string why = lacking(8 * gigabyte, 30 * gigabyte); !why.empty()) GTEST_SKIP() << "SKIPPED: " << why;
  const many<u8> data(bytes, [](u64 i) {
    for (const u64 m : marked)
      if (i == m) return mark;
    return byte_of(i);
  });
  // How often each value is there.
  std::array<std::int64_t, 256> counts{};
  std::array<std::int64_t, 16> in_period{}, in_rest{};
  for (u64 i = 0; i < period; ++i) ++in_period[byte_of(i)];
  for (u64 i = 0; i < bytes % period; ++i) ++in_rest[byte_of(i)];
  for (std::size_t v = 0; v < 16; ++v) counts[v] = static_cast<std::int64_t>(bytes / period) * in_period[v] + in_rest[v];
  for (const u64 m : marked) --counts[byte_of(m)], ++counts[mark];
  std::int64_t sum = 0;
  for (std::size_t v = 0; v < 256; ++v) sum += counts[v] * static_cast<std::int64_t>(v);

  const auto all = query::from(data.rows()).as_accelerated().in(session_);
  const auto is_3 = all.where([](auto x) { return x == 3; });
  EXPECT_EQ(is_3.count(), counts[3]);
  in_one_piece(is_3.explain("count"));
  EXPECT_EQ(all.where([](auto x) { return x != 3; }).count(), static_cast<std::int64_t>(bytes) - counts[3]);
  const auto wide = all.select([](auto x) { return query::cast<std::int64_t>(x); });
  EXPECT_EQ(wide.sum(), sum);
  EXPECT_EQ(all.max(), mark);

  // Rows by their number, behind a filter and before it.
  const auto places = all.index().where([](auto r) { return r.value == mark; }).select([](auto r) { return query::cast<u64>(r.index); });
  const std::vector<u64> found = places.to_vector();
  EXPECT_EQ(found, std::vector<u64>(marked.begin(), marked.end()));
  in_one_piece(places.explain());
  const auto late = all.where([](auto, auto i) { return query::cast<u64>(i) >= bytes - 4; });
  EXPECT_EQ(late.to_vector(), (std::vector<u8>{byte_of(bytes - 4), byte_of(bytes - 3), byte_of(bytes - 2), mark}));

  const auto groups = all.group_by([](auto x) { return x; }).select([](auto g) { return std::make_tuple(g.key(), g.count()); });
  std::vector<std::int64_t> of_groups(256);
  for (const auto& [key, n] : groups.to_vector()) of_groups[key] = n;
  EXPECT_EQ(of_groups, std::vector<std::int64_t>(counts.begin(), counts.end()));
  in_one_piece(groups.explain());
  // The number of a group's last row.
  const auto lasts = all.index().group_by([](auto r) { return r.value; }).select([](auto g) {
    return std::make_tuple(g.key(), g.count(), g.max([](auto r) { return query::cast<u64>(r.index); }));
  });
  for (const auto& [key, n, last] : lasts.to_vector()) {
    EXPECT_EQ(n, counts[key]) << int{key};
    u64 wanted = bytes - 1;
    while (data.rows()[wanted] != key) --wanted;
    EXPECT_EQ(last, wanted) << int{key};
  }

  const auto distinct = all.distinct().as_ordered();
  std::vector<u8> values;
  for (u8 v = 0; v < 16; ++v) values.push_back(v);
  values.push_back(mark);
  EXPECT_EQ(distinct.to_vector(), values);
  in_one_piece(distinct.explain());

  // All rows probe a few; those that find one are the marks.
  const std::vector<pair_of_bytes> few = {{mark, 7}, {200, 9}};
  const auto joined = all.index().join(query::from(few), [](auto r) { return r.value; }, [](auto f) { return f.low; },
                                       [](auto r, auto f) { return query::cast<u64>(r.index) * query::cast<u64>(f.high); }).as_ordered();
  std::vector<u64> products;
  for (const u64 m : marked) products.push_back(m * 7);
  EXPECT_EQ(joined.to_vector(), products);
  const auto top = all.index().top(3, [](auto r) { return r.value; }).select([](auto r) { return query::cast<u64>(r.index); });
  EXPECT_EQ(top.to_vector(), std::vector<u64>(marked.begin(), marked.begin() + 3));
}

// Pairs by their first byte, stable: numbers of 64 bits go through the sort.
TEST_F(many_rows, are_sorted_by_numbers_of_64_bits) {
  constexpr u64 n = (u64{1} << 30) + 777;
  if (const std::string why = lacking(8 * gigabyte, 60 * gigabyte); !why.empty()) GTEST_SKIP() << "SKIPPED: " << why;
  const auto low = [](u64 i) { return static_cast<u8>(i % period % 5 * 40); };
  const auto high = [](u64 i) { return static_cast<u8>(mixed(i)); };
  const many<pair_of_bytes> data(n, [&](u64 i) { return pair_of_bytes{low(i), high(i)}; });
  const auto sorted = query::from(data.rows()).as_accelerated().in(session_).order_by([](auto r) { return r.low; });
  const auto some = sorted.index()
                        .where([](auto r) { return r.index % 999'983 == 0; })
                        .select([](auto r) { return std::make_tuple(query::cast<u64>(r.index), r.value.low, r.value.high); });
  const auto got = some.to_vector();
  in_one_piece(some.explain());
  // Row number k of those with value v lies in the (k / times)-th period.
  std::array<std::vector<u64>, 5> of_period;
  for (u64 i = 0; i < period; ++i) of_period[low(i) / 40].push_back(i);
  std::array<u64, 6> begins{};
  for (std::size_t v = 0; v < 5; ++v) {
    u64 rest = 0;
    for (const u64 i : of_period[v]) rest += i < n % period;
    begins[v + 1] = begins[v] + n / period * of_period[v].size() + rest;
  }
  ASSERT_EQ(begins[5], n);
  ASSERT_EQ(got.size(), (n - 1) / 999'983 + 1);
  std::size_t wrong = 0;
  for (std::size_t g = 0; g < got.size(); ++g) {
    const u64 at = g * 999'983;
    std::size_t v = 0;
    while (at >= begins[v + 1]) ++v;
    const u64 k = at - begins[v], row = k / of_period[v].size() * period + of_period[v][k % of_period[v].size()];
    if (got[g] != std::tuple(at, static_cast<u8>(v * 40), high(row))) ++wrong;
  }
  EXPECT_EQ(wrong, 0u);
}

// A build side whose rows have numbers of 64 bits: 2^31 slots of 16 bytes beside rows, keys and their parted copies.
TEST_F(many_rows, are_a_build_side) {
  constexpr u64 n = (u64{1} << 30) + 777;
  if (const std::string why = lacking(14 * gigabyte, 100 * gigabyte); !why.empty()) GTEST_SKIP() << "SKIPPED: " << why;
  const auto row_of = [](u64 i) {
    const u64 x = mixed(i);
    return entry{static_cast<u32>(i), static_cast<u8>(x), static_cast<u8>(x >> 8), static_cast<u8>(x >> 16), static_cast<u8>(x >> 24)};
  };
  const many<entry> data(n, row_of);
  std::vector<u32> asked;
  std::vector<std::tuple<u32, u8, u8, u8, u8>> wanted;
  for (u32 i = 0; i < 4000; ++i) {
    asked.push_back(i * 0x100003u);  // beyond the end too
    if (i % 3 == 0) asked.back() = static_cast<u32>(n - 1 - i);
    if (asked.back() >= n) continue;
    const entry e = row_of(asked.back());
    wanted.emplace_back(e.key, e.a, e.b, e.c, e.d);
  }
  const auto joined = query::from(asked)
                          .as_accelerated()
                          .in(session_)
                          .join(query::from(data.rows()), [](auto k) { return k; }, [](auto r) { return r.key; },
                                [](auto k, auto r) { return std::make_tuple(k, r.a, r.b, r.c, r.d); })
                          .as_ordered();
  EXPECT_EQ(joined.to_vector(), wanted);
  in_one_piece(joined.explain());
}

}  // namespace
