// First rows of keys against a map: keys of every distribution, tables that are too small, a second input that adds, keeps or removes.
#include "gpu_primitives/distinct.cuh"

#include <map>
#include <set>

#include "hashing_fixture.cuh"

using namespace query::gpu;
using namespace hashing_test;

namespace {

template <class Key> struct key_column {
  const Key* keys;
  Key dropped;
  __device__ bool operator()(u64 i, Key& key) const {
    key = keys[i];
    return key != dropped;
  }
};
template <class Key, class Number> using table_of = hash_table_ref<bitwise_keys<Key>, Number>;

template <class Key, class Number> __global__ void first_kernel(u64 n, u64 from, table_of<Key, Number> t, u32* full, key_column<Key> rows) {
  first_rows(n, from, t, full, bitwise_keys<Key>{}, rows);
}
template <class Key, class Number> __global__ void present_kernel(u64 n, table_of<Key, Number> t, u8* present, key_column<Key> rows) {
  present_keys(n, t, present, bitwise_keys<Key>{}, rows);
}
template <class Key, class Number>
__global__ void flag_kernel(table_of<Key, Number> t, const u8* present, bool wanted, u8* flags, u64* count) {
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

template <class Key> std::vector<Key> as(const std::vector<u32>& keys) { return std::vector<Key>(keys.begin(), keys.end()); }

class Distinct : public Gpu {};

template <class Key, class Number> void check(const std::vector<u32>& a, const std::vector<u32>& b, second_input what) {
  device_array<Key> first(as<Key>(a)), second(as<Key>(b));
  const u64 rows = a.size() + (what == second_input::adds ? b.size() : 0);
  const u32 bits = table_bits(rows);
  device_array<typename table_of<Key, Number>::slot> slots(table_slots(bits));
  slots.fill(0xff);
  const table_of<Key, Number> table{slots.data(), bits};
  device_array<u32> full(1);
  full.fill(0);
  first_kernel<<<13, 256>>>(a.size(), 0, table, full.data(), key_column<Key>{first.data(), Key(dropped)});
  if (what == second_input::adds)
    first_kernel<<<13, 256>>>(b.size(), a.size(), table, full.data(), key_column<Key>{second.data(), Key(dropped)});
  device_array<u8> present(table_slots(bits)), flags(rows + 1);
  device_array<u64> count(1);
  present.fill(0);
  flags.fill(0);
  count.fill(0);
  const bool marks = what == second_input::keeps || what == second_input::removes;
  if (marks) present_kernel<<<7, 256>>>(b.size(), table, present.data(), key_column<Key>{second.data(), Key(dropped)});
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
      check<u32, u32>(keys, {}, second_input::none);
      check<u64, u64>(keys, {}, second_input::none);
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
        check<u32, u64>(keys, others, what);
        check<u64, u32>(keys, others, what);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(Distinct, a_table_that_is_too_small_says_so) {
  const auto keys = make_keys(5000, 5000, spread::all_distinct);
  device_array<u32> column(keys), full(1);
  device_array<table_of<u32, u32>::slot> slots(table_slots(10));
  slots.fill(0xff);
  full.fill(0);
  first_kernel<<<4, 256>>>(keys.size(), 0, table_of<u32, u32>{slots.data(), 10}, full.data(), key_column<u32>{column.data(), dropped});
  finish();
  EXPECT_EQ(full.first(), 1u);
}

}  // namespace
