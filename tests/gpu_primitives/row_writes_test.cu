// Rows written by whole warps: rows_as_they_lie behind compact, write_rows, for rows of one word to 128 bytes, aligned to 4 and 8; what
// lies behind the last row stays as it was. Rows copied by their numbers, of bytes too, and of tables that begin anywhere.
#include "gpu_primitives/compact.cuh"
#include "gpu_primitives/row_writes.cuh"

#include <cstring>

#include "device.cuh"

namespace query::gpu::test {
namespace {

class row_writes_test : public on_device {};

template <class Word, u32 Words>
struct row_of {
  Word w[Words];
};

// Each word tells its row and its place in it.
template <class Row>
QUERY_GPU_BOTH Row made_row(u64 i) {
  Row r;
  constexpr u32 words = sizeof(r.w) / sizeof(r.w[0]);
  for (u32 k = 0; k < words; ++k) r.w[k] = static_cast<std::remove_reference_t<decltype(r.w[0])>>(i * words + k);
  return r;
}

template <class Row>
__global__ void __launch_bounds__(256) write_all(u64 n, Row* out) {
  write_rows<256>(n, out, [](u64 i) { return made_row<Row>(i); });
}

template <class Row>
__global__ void __launch_bounds__(compact_policy<Row>::threads, compact_policy<Row>::blocks)
    keep_some(u64 n, u64 step, void* temp, u64* count, Row* out) {
  const auto keep = [=](u64 i, Row& row) {
    row = made_row<Row>(i);
    return i % step != 1;
  };
  compact<compact_policy<Row>, Row>(n, temp, count, keep, rows_as_they_lie<Row>{out});
}

template <class Row>
void expect_these(const device_array<Row>& out, const std::vector<u64>& expected, const char* what) {
  const std::vector<Row> rows = out.to_host();
  ASSERT_EQ(rows.size(), expected.size() + 1);
  for (u64 at = 0; at < expected.size(); ++at) {
    const Row row = made_row<Row>(expected[at]);
    ASSERT_EQ(std::memcmp(&rows[at], &row, sizeof row), 0)
        << what << ", row " << at << " of " << expected.size() << ", " << sizeof row << " bytes";
  }
  const Row none{};
  EXPECT_EQ(std::memcmp(&rows.back(), &none, sizeof none), 0) << what << ": written behind the last row, " << sizeof none << " bytes";
}

template <class Row>
void expect_all_written() {
  for (const u64 n : interesting_sizes(256)) {
    std::vector<u64> expected(n);
    for (u64 i = 0; i < n; ++i) expected[i] = i;
    for (const u64 blocks : {u64(1), divide_up(n, 256) + 3}) {
      const device_array<Row> out(n + 1, 0);
      write_all<Row><<<unsigned(blocks), 256>>>(n, out.data());
      finish();
      expect_these(out, expected, "write_rows");
    }
  }
}

template <class Row>
void expect_kept_rows() {
  using policy = compact_policy<Row>;
  for (const u64 n : interesting_sizes(compact_tile<policy>()))
    for (const u64 step : {u64(1), u64(2), u64(7)}) {
      std::vector<u64> expected;
      for (u64 i = 0; i < n; ++i)
        if (i % step != 1) expected.push_back(i);
      const device_array<Row> out(expected.size() + 1, 0);
      const device_array<u64> count(1);
      const auto temp = zeroed(compact_temp_bytes<policy>(n));
      const u64 blocks = compact_blocks<policy>(n, resident_blocks(keep_some<Row>, policy::threads));
      keep_some<Row><<<unsigned(blocks), policy::threads>>>(n, step, temp.data(), count.data(), out.data());
      finish();
      ASSERT_EQ(count.to_host()[0], expected.size());
      expect_these(out, expected, "compact");
    }
}

template <class Row>
__global__ void __launch_bounds__(256) copy_backwards(u64 n, const Row* rows, Row* out) {
  copy_rows<256>(n, rows, out, [=](u64 j) { return n - 1 - j; });
}

// `skipped`: rows before the tables begin, which moves rows of bytes off the words.
template <class Row>
void expect_copied(u64 skipped = 0) {
  for (const u64 n : interesting_sizes(256)) {
    std::vector<Row> rows(n + skipped);
    std::vector<u64> expected(n);
    for (u64 i = 0; i < n; ++i) {
      rows[i + skipped] = made_row<Row>(i);
      expected[n - 1 - i] = i;
    }
    const device_array<Row> in(rows), out(n + skipped + 1, 0);
    for (const u64 blocks : {u64(1), divide_up(n, 256) + 3}) {
      copy_backwards<Row><<<unsigned(blocks), 256>>>(n, in.data() + skipped, out.data() + skipped);
      finish();
      const std::vector<Row> all = out.to_host();
      const Row none{};
      for (u64 j = 0; j < n; ++j) {
        const Row row = made_row<Row>(expected[j]);
        ASSERT_EQ(std::memcmp(&all[j + skipped], &row, sizeof row), 0) << "row " << j << " of " << n << ", " << sizeof row << " bytes";
      }
      EXPECT_EQ(std::memcmp(&all.back(), &none, sizeof none), 0) << "written behind the last row, " << sizeof none << " bytes";
    }
  }
}

TEST_F(row_writes_test, copy_rows_by_their_numbers) {
  expect_copied<row_of<u8, 1>>();
  expect_copied<row_of<u64, 1>>();
  expect_copied<row_of<u8, 7>>();
  expect_copied<row_of<u8, 12>>();
  expect_copied<row_of<u16, 9>>();
  expect_copied<row_of<u32, 3>>();
  expect_copied<row_of<u64, 2>>();
  expect_copied<row_of<u8, 100>>();
  expect_copied<row_of<u8, 101>>();
  expect_copied<row_of<u8, 101>>(3);
  expect_copied<row_of<u8, 100>>(1);
  expect_copied<row_of<u64, 25>>();
}

// Rows of two fields that lie in columns of their own.
template <class A, class B>
struct two_fields {
  A a;
  B b;
};
// `at_once`: by gather_fields, else a field after the other.
template <class A, class B>
__global__ void __launch_bounds__(256) put_together(bool at_once, u64 n, u64 rows, const A* a, const B* b, two_fields<A, B>* out) {
  if (at_once)
    return gather_fields<256>(
        n, out, [=](u64 j) { return rows - 1 - j; }, field_column<0, A>{a, rows}, field_column<u32(sizeof(A)), B>{b, rows});
  copy_fields<256, 0>(n, a, out, [=](u64 j) { return rows - 1 - j; });
  copy_fields<256, u32(sizeof(A))>(n, b, out, [=](u64 j) { return rows - 1 - j; });
}
// `skipped`: values before the columns begin, and rows before the result does, which moves them off the words.
template <class A, class B>
void expect_put_together(u64 skipped = 0) {
  using row = two_fields<A, B>;
  static_assert(sizeof(row) == sizeof(A) + sizeof(B));
  // Around a warp's rows and those of a block, by one block and by more than there is work for.
  for (const u64 n : {u64(0), u64(1), u64(31), u64(33), u64(255), u64(1000)}) {
    const u64 rows = n + n / 3;
    std::vector<A> a(rows + skipped);
    std::vector<B> b(rows + skipped);
    for (u64 i = 0; i < rows; ++i) a[i + skipped] = made_row<A>(i), b[i + skipped] = made_row<B>(i + 7);
    const device_array<A> first(a);
    const device_array<B> second(b);
    for (const bool at_once : {false, true})
      for (const u64 blocks : {u64(1), divide_up(n, 256) + 3}) {
        const device_array<row> out(n + skipped + 1, 0);
        put_together<A, B>
            <<<unsigned(blocks), 256>>>(at_once, n, rows, first.data() + skipped, second.data() + skipped, out.data() + skipped);
        finish();
        const auto all = out.to_host();
        for (u64 j = 0; j < n; ++j) {
          const row& r = all[j + skipped];
          const u64 i = rows - 1 - j + skipped;
          ASSERT_TRUE(std::memcmp(&r.a, &a[i], sizeof(A)) == 0 && std::memcmp(&r.b, &b[i], sizeof(B)) == 0)
              << "row " << j << " of " << n << ", " << sizeof(A) << " and " << sizeof(B) << " bytes" << (at_once ? ", at once" : "");
        }
        const row none{};
        EXPECT_EQ(std::memcmp(&all.back(), &none, sizeof none), 0) << "written behind the last row";
        for (u64 j = 0; j < skipped; ++j) EXPECT_EQ(std::memcmp(&all[j], &none, sizeof none), 0) << "written before the first row";
      }
  }
}

TEST_F(row_writes_test, put_rows_of_bytes_together) {
  expect_put_together<row_of<u8, 10>, row_of<u8, 90>>();
  expect_put_together<row_of<u8, 10>, row_of<u8, 90>>(3);
  expect_put_together<row_of<u8, 3>, row_of<u8, 98>>();
  expect_put_together<row_of<u8, 3>, row_of<u8, 98>>(1);
  expect_put_together<row_of<u8, 4>, row_of<u8, 28>>();
  expect_put_together<row_of<u8, 5>, row_of<u8, 28>>(2);
  expect_put_together<row_of<u16, 4>, row_of<u16, 10>>();
  expect_put_together<row_of<u16, 5>, row_of<u16, 10>>(1);
  expect_put_together<row_of<u8, 1>, row_of<u8, 1>>();
  expect_put_together<row_of<u8, 1>, row_of<u8, 300>>();   // fewer rows at a time
  expect_put_together<row_of<u8, 2>, row_of<u8, 4002>>();  // one
  expect_put_together<row_of<u8, 3>, row_of<u8, 5000>>();  // none: a field after the other
}

TEST_F(row_writes_test, write_each_row_once_whatever_its_width) {
  expect_all_written<row_of<u16, 3>>();
  expect_all_written<row_of<u64, 1>>();
  expect_all_written<row_of<u32, 3>>();
  expect_all_written<row_of<u64, 2>>();
  expect_all_written<row_of<u64, 3>>();
  expect_all_written<row_of<u32, 9>>();
  expect_all_written<row_of<u64, 8>>();
  expect_all_written<row_of<u32, 25>>();
  expect_all_written<row_of<u64, 16>>();
  expect_all_written<row_of<u64, 17>>();
}

TEST_F(row_writes_test, copy_rows_that_stay_as_they_lie) {
  expect_kept_rows<row_of<u32, 5>>();
  expect_kept_rows<row_of<u64, 3>>();
  expect_kept_rows<row_of<u64, 5>>();
  expect_kept_rows<row_of<u32, 15>>();
  expect_kept_rows<row_of<u64, 14>>();
}

}  // namespace
}  // namespace query::gpu::test
