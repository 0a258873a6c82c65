// Rows written by whole warps: rows_as_they_lie behind compact, write_rows, for rows of one word to 128 bytes, aligned to 4 and 8; what
// lies behind the last row stays as it was.
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
