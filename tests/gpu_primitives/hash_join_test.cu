// Joins of every kind by keys of 64 bits: distinct and repeated build keys, skew, edge sizes, order of the output.
#include "join_checks.cuh"

namespace {

using u64_inputs = bitwise_inputs<u64>;

class HashJoin : public Gpu {};

std::vector<u64> widen(const std::vector<u32>& from) {
  std::vector<u64> to(from.size());
  for (u64 i = 0; i < from.size(); ++i)
    to[i] = from[i] > 0xfffffff0u ? ~u64(0) - (0xffffffffu - from[i]) : from[i] == 17 ? dropped : from[i] * u64(3);
  return to;
}

TEST_F(HashJoin, distinct_build_keys_all_kinds) {
  for (const u64 n : edge_sizes()) {
    std::vector<u64> build(n / 3 + n % 2);
    for (u64 i = 0; i < build.size(); ++i) build[i] = i % 2 ? i * 3 : ~u64(0) - i;
    std::vector<u64> probe = widen(make_keys(n, n / 2 + 1, spread::extremes));
    SCOPED_TRACE(n);
    check_unique<u64_inputs, join_kind::inner>(build, probe);
    check_unique<u64_inputs, join_kind::left>(build, probe);
    check_unique<u64_inputs, join_kind::semi>(build, probe);
    check_unique<u64_inputs, join_kind::anti>(build, probe);
    if (HasFatalFailure()) return;
  }
}

TEST_F(HashJoin, repeated_keys_are_reported) {
  for (const u64 key : {u64(0), u64(5), ~u64(0)}) {
    const u64_inputs in({1, 2, key, 3, key, 4}, {});
    using keys = u64_inputs::keys_type;
    device_array<hash_table_ref<keys, u64>::slot> slots(table_slots(5));
    slots.fill(0xff);
    device_array<u32> repeated(1);
    repeated.fill(0);
    build_kernel<<<1, 32>>>(6, hash_table_ref<keys, u64>{slots.data(), 5}, repeated.data(), in.keys(), build_rows{in.first()});
    finish();
    EXPECT_EQ(repeated.first(), 1u);
  }
}

TEST_F(HashJoin, repeated_build_keys_inner_and_left) {
  for (const u64 n : edge_sizes()) {
    const u64 m = std::min<u64>(n, 200000);
    const auto build = widen(make_keys(m / 2, m / 4 + 1, spread::uniform, 3));
    const auto probe = widen(make_keys(m, m / 2 + 1, spread::extremes, 4));
    SCOPED_TRACE(n);
    check_repeated<u64_inputs, join_kind::inner>(build, probe);
    check_repeated<u64_inputs, join_kind::left>(build, probe);
    if (HasFatalFailure()) return;
  }
}

TEST_F(HashJoin, one_probe_row_with_fifty_thousand_partners) {
  auto build = widen(make_keys(3000, 2000, spread::uniform, 5));
  build.insert(build.end(), 50000, 30);
  auto probe = widen(make_keys(5000, 4000, spread::uniform, 6));
  probe[77] = 30;
  probe[78] = 30;
  probe.back() = 30;
  check_repeated<u64_inputs, join_kind::inner>(build, probe);
  check_repeated<u64_inputs, join_kind::left>(build, probe);
}

TEST_F(HashJoin, few_probe_rows_with_partners_among_many_without) {
  auto build = widen(make_keys(3000, 20, spread::uniform, 7));
  for (u64& key : build) key += 1000000;
  auto probe = widen(make_keys(300000, 1000, spread::uniform, 8));
  for (const u64 row : {u64{0}, u64{150000}, u64{150001}, u64{299999}}) probe[row] = build.front();
  check_repeated<u64_inputs, join_kind::inner>(build, probe);
  check_repeated<u64_inputs, join_kind::left>(build, probe);
}

}  // namespace
