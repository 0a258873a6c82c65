// First rows of keys against a map: keys of every width and distribution, strings, tables that are too small, a second input that adds,
// keeps or removes. Beyond 2^31 rows, and slots, what is first is known by formula.
#include "gpu_primitives/distinct.cuh"

#include <map>
#include <set>

#include "key_inputs.cuh"

using namespace query::gpu;
using namespace hashing_test;

namespace {

template <class Column> struct kept_keys {
  using key_type = typename Column::key_type;
  Column keys;
  const u64* numbers;
  u64 dropped;  // rows with this number are filtered away
  __device__ bool operator()(u64 i, key_type& key) const {
    key = keys(i);
    return numbers[i] != dropped;
  }
};
template <class Column> kept_keys(Column, const u64*, u64) -> kept_keys<Column>;

template <class Key, class Number> using table_of = hash_table_ref<bitwise_keys<Key>, Number>;

template <class Keys, class Number, class Column>
__global__ void first_kernel(u64 n, u64 from, hash_table_ref<Keys, Number> t, u32* full, Keys keys, kept_keys<Column> rows) {
  first_rows(n, from, t, full, keys, rows);
}
template <class Keys, class Number, class Column>
__global__ void present_kernel(u64 n, hash_table_ref<Keys, Number> t, u8* present, Keys keys, kept_keys<Column> rows) {
  present_keys(n, t, present, keys, rows);
}
template <class Keys, class Number>
__global__ void flag_kernel(hash_table_ref<Keys, Number> t, const u8* present, bool wanted, u8* flags, u64* count) {
  flag_rows(t, present, wanted, flags, count);
}

constexpr u32 dropped = 17;

enum class second_input { none, adds, keeps, removes };

std::set<u64> expected(const std::vector<u32>& a, const std::vector<u32>& b, second_input what) {
  std::map<u32, u64> first;
  const std::set<u32> there(b.begin(), b.end());
  for (u64 i = 0; i < a.size(); ++i)
    if (a[i] != dropped) first.try_emplace(a[i], i);
  if (what == second_input::adds)
    for (u64 i = 0; i < b.size(); ++i)
      if (b[i] != dropped) first.try_emplace(b[i], a.size() + i);
  std::set<u64> rows;
  for (const auto& [key, row] : first) {
    const bool found = key != dropped && there.count(key) != 0;
    if (what == second_input::none || what == second_input::adds || found == (what == second_input::keeps)) rows.insert(row);
  }
  return rows;
}

class Distinct : public Gpu {};

template <class Inputs, class Number> void check(const std::vector<u32>& a, const std::vector<u32>& b, second_input what) {
  using table_type = hash_table_ref<typename Inputs::keys_type, Number>;
  const std::vector<u64> first(a.begin(), a.end()), second(b.begin(), b.end());
  const Inputs in(first, second);
  const device_array<u64> first_numbers(first), second_numbers(second);
  const kept_keys first_rows_in{in.first(), first_numbers.data(), dropped}, second_rows_in{in.second(), second_numbers.data(), dropped};
  const u64 rows = a.size() + (what == second_input::adds ? b.size() : 0);
  const u32 bits = table_bits(rows);
  device_array<typename table_type::slot> slots(table_slots(bits));
  slots.fill(0xff);
  const table_type table{slots.data(), bits};
  device_array<u32> full(1);
  full.fill(0);
  first_kernel<<<13, 256>>>(a.size(), 0, table, full.data(), in.keys(), first_rows_in);
  if (what == second_input::adds) first_kernel<<<13, 256>>>(b.size(), a.size(), table, full.data(), in.keys(), second_rows_in);
  device_array<u8> present(table_slots(bits)), flags(rows + 1);
  device_array<u64> count(1);
  present.fill(0);
  flags.fill(0);
  count.fill(0);
  const bool marks = what == second_input::keeps || what == second_input::removes;
  if (marks) present_kernel<<<7, 256>>>(b.size(), table, present.data(), in.keys(), second_rows_in);
  flag_kernel<<<5, 256>>>(table, marks ? present.data() : nullptr, what == second_input::keeps, flags.data(), count.data());
  finish();
  ASSERT_EQ(full.first(), 0u);
  const auto got = flags.host();
  std::set<u64> kept;
  for (u64 i = 0; i < rows; ++i) {
    if (got[i]) kept.insert(i);
  }
  ASSERT_EQ(kept, expected(a, b, what));
  ASSERT_EQ(count.first(), kept.size());
}

TEST_F(Distinct, first_row_of_every_key) {
  for (const u64 n : edge_sizes()) {
    for (const spread s : {spread::all_equal, spread::all_distinct, spread::few, spread::heavy, spread::extremes}) {
      SCOPED_TRACE(std::to_string(n) + " " + name_of(s));
      const auto keys = make_keys(n, n / 3 + 1, s);
      check<bitwise_inputs<u32>, u32>(keys, {}, second_input::none);
      check<bitwise_inputs<u64>, u64>(keys, {}, second_input::none);
      if (n > 10000) continue;
      check<bitwise_inputs<wide_key>, u32>(keys, {}, second_input::none);
      check<text_inputs, u64>(keys, {}, second_input::none);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(Distinct, with_a_second_input) {
  for (const u64 n : edge_sizes()) {
    if (n > 10000) continue;
    for (const spread s : {spread::all_equal, spread::uniform, spread::extremes}) {
      SCOPED_TRACE(std::to_string(n) + " " + name_of(s));
      const auto keys = make_keys(n, n / 2 + 1, s), others = make_keys(n / 2 + n % 3, n / 2 + 1, s, 11);
      for (const second_input what : {second_input::adds, second_input::keeps, second_input::removes}) {
        check<bitwise_inputs<u32>, u64>(keys, others, what);
        check<bitwise_inputs<u64>, u32>(keys, others, what);
        check<bitwise_inputs<wide_key>, u64>(keys, others, what);
        check<text_inputs, u32>(keys, others, what);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(Distinct, a_table_that_is_too_small_says_so) {
  const auto keys = make_keys(5000, 5000, spread::all_distinct);
  const std::vector<u64> all(keys.begin(), keys.end());
  const bitwise_inputs<u32> in(all, {});
  const device_array<u64> numbers(all);
  device_array<u32> full(1);
  device_array<table_of<u32, u32>::slot> slots(table_slots(10));
  slots.fill(0xff);
  full.fill(0);
  first_kernel<<<4, 256>>>(keys.size(), 0, table_of<u32, u32>{slots.data(), 10}, full.data(), bitwise_keys<u32>{},
                           kept_keys{in.first(), numbers.data(), dropped});
  finish();
  EXPECT_EQ(full.first(), 1u);
}

constexpr u64 many = (u64(1) << 31) + 12345;

// Keys that come first among the first rows, others beyond 2^31 of them, others beyond 2^32.
struct late_keys {
  static constexpr u64 second = (u64(1) << 31) + 5, third = (u64(1) << 32) + 7;
  static constexpr u64 of_first = 1000003, of_second = 251, of_third = 13;
  u64 from;
  __device__ bool operator()(u64 i, u32& key) const {
    const u64 row = from + i;
    key = static_cast<u32>(row < second ? row % of_first : row < third ? 2000000 + row % of_second : 3000000 + row % of_third);
    return true;
  }
  static __device__ bool is_first(u64 row) {
    return row < of_first || (row >= second && row < second + of_second) || (row >= third && row < third + of_third);
  }
};
__global__ void late_kernel(u64 n, late_keys rows, table_of<u32, u64> t, u32* full) {
  first_rows(n, rows.from, t, full, bitwise_keys<u32>{}, rows);
}
__global__ void late_check_kernel(const u8* flags, u64 n, u64* wrong) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x)
    if ((flags[i] != 0) != late_keys::is_first(i)) atomicAdd(wrong, 1ull);
}

TEST_F(Distinct, first_rows_beyond_2_to_the_31_and_the_32) {
  NEEDS_GIGABYTES(5);
  constexpr u64 first_rows_of_all = late_keys::of_first + late_keys::of_second + late_keys::of_third;
  const u32 bits = table_bits(first_rows_of_all);
  device_array<table_of<u32, u64>::slot> slots(table_slots(bits));
  slots.fill(0xff);
  const table_of<u32, u64> table{slots.data(), bits};
  device_array<u32> full(1);
  full.fill(0);
  // The second input goes on where the first one ends.
  for (const u64 from : {u64(0), many}) late_kernel<<<132 * 8, 256>>>(many, late_keys{from}, table, full.data());
  device_array<u8> flags(2 * many);
  device_array<u64> count(1), wrong(1);
  flags.fill(0);
  count.fill(0);
  wrong.fill(0);
  flag_kernel<<<132, 256>>>(table, nullptr, true, flags.data(), count.data());
  late_check_kernel<<<2048, 256>>>(flags.data(), 2 * many, wrong.data());
  finish();
  EXPECT_EQ(full.first(), 0u);
  EXPECT_EQ(count.first(), first_rows_of_all);
  EXPECT_EQ(wrong.first(), 0u);
}

struct all_different {
  __device__ bool operator()(u64 i, u32& key) const {
    key = static_cast<u32>(i) * 0x9e3779b1u;
    return true;
  }
};
__global__ void different_kernel(u64 n, table_of<u32, u32> t, u32* full) {
  first_rows(n, 0, t, full, bitwise_keys<u32>{}, all_different{});
}
__global__ void unflagged_kernel(const u8* flags, u64 n, u64* wrong) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x)
    if (flags[i] != 1) atomicAdd(wrong, 1ull);
}

// Half of 2^32 slots and a few more are taken.
TEST_F(Distinct, keys_beyond_2_to_the_31) {
  NEEDS_GIGABYTES(36);
  device_array<table_of<u32, u32>::slot> slots(table_slots(32));
  slots.fill(0xff);
  const table_of<u32, u32> table{slots.data(), 32};
  device_array<u32> full(1);
  full.fill(0);
  different_kernel<<<132 * 8, 256>>>(many, table, full.data());
  device_array<u8> flags(many);
  device_array<u64> count(1), wrong(1);
  flags.fill(0);
  count.fill(0);
  wrong.fill(0);
  flag_kernel<<<132 * 8, 256>>>(table, nullptr, true, flags.data(), count.data());
  unflagged_kernel<<<2048, 256>>>(flags.data(), many, wrong.data());
  finish();
  EXPECT_EQ(full.first(), 0u);
  EXPECT_EQ(count.first(), many);
  EXPECT_EQ(wrong.first(), 0u);
}

}  // namespace
