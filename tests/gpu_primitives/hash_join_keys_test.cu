// Joins by keys of 4 and 16 bytes, and of strings by hash and row.
#include "join_checks.cuh"

namespace {

template <class Inputs> class HashJoinKeys : public Gpu {};
using inputs = testing::Types<bitwise_inputs<u32>, bitwise_inputs<wide_key>, text_inputs>;
TYPED_TEST_SUITE(HashJoinKeys, inputs);

std::vector<u64> as_numbers(const std::vector<u32>& from) { return {from.begin(), from.end()}; }

TYPED_TEST(HashJoinKeys, distinct_build_keys_all_kinds) {
  for (const u64 n : edge_sizes()) {
    if (n > 10000) continue;
    std::vector<u64> build(n / 3 + n % 2);
    for (u64 i = 0; i < build.size(); ++i) build[i] = i % 2 ? i * 3 : 0xffffffffu - i;
    std::vector<u64> probe = as_numbers(make_keys(n, n / 2 + 1, spread::extremes));
    for (u64 i = 0; i < n; i += 7) probe[i] = dropped;
    SCOPED_TRACE(n);
    check_unique<TypeParam, join_kind::inner>(build, probe);
    check_unique<TypeParam, join_kind::left>(build, probe);
    check_unique<TypeParam, join_kind::semi>(build, probe);
    check_unique<TypeParam, join_kind::anti>(build, probe);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(HashJoinKeys, repeated_keys_are_reported) {
  for (const u64 key : {u64(0), u64(5), u64(0xffffffffu)}) {
    using keys = typename TypeParam::keys_type;
    const TypeParam in({1, 2, key, 3, key, 4}, {});
    device_array<typename hash_table_ref<keys, u64>::slot> slots(table_slots(5));
    slots.fill(0xff);
    device_array<u32> repeated(1);
    repeated.fill(0);
    build_kernel<<<1, 32>>>(6, hash_table_ref<keys, u64>{slots.data(), 5}, repeated.data(), in.keys(), build_rows{in.first()});
    finish();
    EXPECT_EQ(repeated.first(), 1u);
  }
}

TYPED_TEST(HashJoinKeys, repeated_build_keys_inner_and_left) {
  for (const u64 n : edge_sizes()) {
    if (n > 10000) continue;
    const auto build = as_numbers(make_keys(n / 2, n / 4 + 1, spread::uniform, 3));
    const auto probe = as_numbers(make_keys(n, n / 2 + 1, spread::extremes, 4));
    SCOPED_TRACE(n);
    check_repeated<TypeParam, join_kind::inner>(build, probe);
    check_repeated<TypeParam, join_kind::left>(build, probe);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(HashJoinKeys, one_key_with_most_of_both_sides) {
  auto build = as_numbers(make_keys(2000, 1500, spread::heavy, 5));
  const auto probe = as_numbers(make_keys(300, 200, spread::heavy, 6));
  check_repeated<TypeParam, join_kind::inner>(build, probe);
  check_repeated<TypeParam, join_kind::left>(build, probe);
}

}  // namespace
