// Joins by keys of which some are null: rows that are there and match nothing. Slots of eight bytes, build sides of keys alone, and a
// build that ends early at a repeated key.
#include "gpu_primitives/hash_join.cuh"

#include <map>

#include "hashing_fixture.cuh"

using namespace query::gpu;
using namespace hashing_test;

namespace {

constexpr u32 null = 13;
struct no_args {};
struct build_column {
  const u32* keys;
  __device__ bool operator()(u64 i, u32& key, u32& row) const {
    row = static_cast<u32>(i);
    return (*this)(i, key);
  }
  __device__ bool operator()(u64 i, u32& key) const {
    key = keys[i];
    return key != null;
  }
};
struct probe_column {
  const u32* keys;
  __device__ probe_state operator()(u64 i, u32& key, no_args&) const {
    key = keys[i];
    return key == null ? probe_state::keyless : probe_state::keyed;
  }
};
struct pair_out {
  u64* probe;
  u64* build;
  __device__ void operator()(u64 at, u64 probe_row, const u32&, const no_args&, bool matched, u32 build_row) const {
    probe[at] = probe_row;
    build[at] = matched ? build_row : no_row;
  }
};

using keys = bitwise_keys<u32>;
using table = hash_table_ref<keys, u32>;
static_assert(sizeof(table::slot) == 8);

__global__ void unique_kernel(u64 n, table t, u32* repeated, build_column row) { build_unique<4>(n, t, repeated, keys{}, row); }
__global__ void keys_kernel(u64 n, table t, u32* full, build_column row) { build_keys(n, t, full, keys{}, row); }
template <join_kind Kind>
__global__ void __launch_bounds__(512, 2) probe_kernel(u64 n, table t, ordered_append append, probe_column row, pair_out out) {
  probe_unique_pipelined<Kind, 512, 2, no_args>(n, t, append, nullptr, keys{}, row, out);
}

class JoinNulls : public Gpu {};

template <join_kind Kind> void check(const std::vector<u32>& build, const std::vector<u32>& probe) {
  constexpr bool tests = Kind == join_kind::semi || Kind == join_kind::anti;
  std::map<u32, u64> rows;
  for (u64 i = 0; i < build.size(); ++i)
    if (build[i] != null) rows[build[i]] = i;
  std::vector<std::pair<u64, u64>> want;
  for (u64 i = 0; i < probe.size(); ++i) {
    const auto at = probe[i] == null ? rows.end() : rows.find(probe[i]);
    const bool found = at != rows.end();
    if (found ? Kind != join_kind::anti : Kind == join_kind::left || Kind == join_kind::anti)
      want.emplace_back(i, tests ? 0 : found ? at->second : no_row);
  }
  device_array<u32> build_keys(build), probe_keys(probe), flag(1);
  flag.fill(0);
  const u32 bits = join_table_bits(build.size());
  device_array<table::slot> slots(table_slots(bits));
  slots.fill(0xff);
  const table t{slots.data(), bits};
  const build_column column{build_keys.data()};
  if (tests)
    keys_kernel<<<7, 256>>>(build.size(), t, flag.data(), column);
  else
    unique_kernel<<<7, 256>>>(build.size(), t, flag.data(), column);
  const u64 n = probe.size();
  device_array<u64> ticket(1), states(append_states(probe_tiles(n, 512, 2))), total(1), out_probe(n + 1), out_build(n + 1);
  ticket.fill(0);
  states.fill(0);
  total.fill(0);
  probe_kernel<Kind><<<5, 512>>>(n, t, ordered_append{ticket.data(), states.data(), total.data()}, probe_column{probe_keys.data()},
                                 pair_out{out_probe.data(), out_build.data()});
  finish();
  ASSERT_EQ(flag.first(), 0u);
  ASSERT_EQ(total.first(), want.size());
  const auto got_probe = out_probe.host(want.size()), got_build = out_build.host(want.size());
  for (u64 i = 0; i < want.size(); ++i) ASSERT_EQ(std::make_pair(got_probe[i], tests ? 0 : got_build[i]), want[i]) << i;
}

TEST_F(JoinNulls, match_nothing_and_stay_where_rows_stay) {
  for (const u64 n : edge_sizes()) {
    std::vector<u32> build(n / 3 + n % 2);
    for (u64 i = 0; i < build.size(); ++i) build[i] = static_cast<u32>(i % 2 ? i * 3 : ~u32(0) - i);
    auto probe = make_keys(n, n + 1, spread::extremes);
    for (u64 i = 0; i < n; i += 7) probe[i] = null;
    SCOPED_TRACE(n);
    check<join_kind::inner>(build, probe);
    check<join_kind::left>(build, probe);
    check<join_kind::semi>(build, probe);
    check<join_kind::anti>(build, probe);
    if (HasFatalFailure()) return;
  }
}

TEST_F(JoinNulls, repeated_build_keys_are_no_matter_to_semi_and_anti_joins) {
  for (const spread s : {spread::all_equal, spread::few, spread::heavy, spread::extremes}) {
    const auto build = make_keys(5000, 2000, s, 3), probe = make_keys(3001, 4000, spread::uniform, 4);
    SCOPED_TRACE(name_of(s));
    check<join_kind::semi>(build, probe);
    check<join_kind::anti>(build, probe);
    if (HasFatalFailure()) return;
  }
}

TEST_F(JoinNulls, a_repeated_key_is_reported_wherever_it_is) {
  for (const u64 at : {0ull, 1ull, 1023ull, 4999ull}) {
    std::vector<u32> build(100000);
    for (u64 i = 0; i < build.size(); ++i) build[i] = static_cast<u32>(i * 2 + 100);
    build[at + 1] = build[at];
    device_array<u32> column(build), repeated(1);
    const u32 bits = join_table_bits(build.size());
    device_array<table::slot> slots(table_slots(bits));
    slots.fill(0xff);
    repeated.fill(0);
    unique_kernel<<<7, 256>>>(build.size(), table{slots.data(), bits}, repeated.data(), build_column{column.data()});
    finish();
    EXPECT_EQ(repeated.first(), 1u) << at;
  }
}

}  // namespace
