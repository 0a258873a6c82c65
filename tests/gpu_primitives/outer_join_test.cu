// Right and full joins: inner and left ones that note which build rows had a partner, and behind their output, in order, the build rows
// that had none. Distinct and repeated build keys; rows of either side whose key is null are there and match nothing.
#include <algorithm>
#include <map>
#include <numeric>

#include "gpu_primitives/compact.cuh"
#include "gpu_primitives/hash_join.cuh"
#include "gpu_primitives/join_tiles.cuh"
#include "hashing_fixture.cuh"

using namespace query::gpu;
using namespace hashing_test;

namespace {

constexpr u64 null = 13;
using keys = bitwise_keys<u64>;
using rest_policy = compact_policy<u64>;

struct no_args {};
struct build_side {
  const u64* keys;
  __device__ bool operator()(u64 i, u64& key, u32& row) const {
    row = static_cast<u32>(i);
    return (*this)(i, key);
  }
  __device__ bool operator()(u64 i, u64& key) const {
    key = keys[i];
    return key != null;
  }
};
struct probe_side {
  const u64* keys;
  __device__ probe_state operator()(u64 i, u64& key, no_args&) const {
    return (*this)(i, key) ? probe_state::keyed : probe_state::keyless;
  }
  __device__ bool operator()(u64 i, u64& key) const {
    key = keys[i];
    return key != null;
  }
};
struct pair_out {
  u64* probe;
  u64* build;
  u8* asked;  // of each build row, where their keys are distinct
  __device__ void operator()(u64 at, u64 probe_row, const u64&, const no_args&, bool matched, u32 build_row) const {
    if (matched) asked[build_row] = 1;
    (*this)(at, probe_row, matched ? u64(build_row) : no_row);
  }
  __device__ void operator()(u64 at, u64 probe_row, u64 build_row) const {
    probe[at] = probe_row;
    build[at] = build_row;
  }
};
struct nothing {
  __device__ void operator()(u32, u64) const {}
};

using unique_table = hash_table_ref<keys, u32>;
using table = table_of_ids<keys>;

__global__ void build_kernel(u64 n, unique_table t, u32* repeated, build_side row) { build_unique<4>(n, t, repeated, keys{}, row); }
template <join_kind Kind>
__global__ void __launch_bounds__(512, 2) probe_kernel(u64 n, unique_table t, ordered_append append, probe_side row, pair_out out) {
  probe_unique_pipelined<Kind, 512, 2, no_args>(n, t, append, nullptr, keys{}, row, out);
}
__global__ void map_kernel(u64 n, table t, u32* groups, build_side row) { map_keys(n, t, groups, keys{}, row, nothing{}); }
__global__ void __launch_bounds__(partner_threads) partners_kernel(u64 n, table t, u32* groups, u8* asked, probe_side row) {
  find_partners(n, t, groups, asked, keys{}, row);
}
template <join_kind Kind> __global__ void __launch_bounds__(partner_threads) sums_kernel(match_source s, u64* sums) {
  count_partners<Kind>(s, sums);
}
__global__ void scan_kernel(u64 n, u64* values) { scan_blocks(n, values); }
template <join_kind Kind>
__global__ void __launch_bounds__(partner_threads) tiles_kernel(match_source s, const u64* starts, const u64* rows, pair_out out) {
  expand_partners<Kind>(s, starts, rows, out);
}
// `groups`: `asked` is of groups (null: of rows).
__global__ void __launch_bounds__(rest_policy::threads, rest_policy::blocks)
    rest_kernel(u64 n, const u32* groups, const u8* asked, void* temporary, const u64* before, u64* count, pair_out out) {
  compact<rest_policy, u64>(
      n, temporary, count,
      [=](u64 i, u64& row) {
        row = i;
        return groups ? groups[i] == no_id || !asked[groups[i]] : !asked[i];
      },
      [=](u64 at, const u64& row) { out(*before + at, no_row, row); });
}

using pairs = std::vector<std::pair<u64, u64>>;
enum class outer { right, full };

// Pairs in the order of probe rows, partners in that of build rows; then build rows without a partner.
pairs expected(outer kind, const std::vector<u64>& build, const std::vector<u64>& probe) {
  std::map<u64, std::vector<u64>> rows;
  for (u64 i = 0; i < build.size(); ++i)
    if (build[i] != null) rows[build[i]].push_back(i);
  std::vector<bool> asked(build.size());
  pairs out;
  for (u64 i = 0; i < probe.size(); ++i) {
    const auto at = probe[i] == null ? rows.end() : rows.find(probe[i]);
    if (at == rows.end()) {
      if (kind == outer::full) out.emplace_back(i, no_row);
      continue;
    }
    for (const u64 b : at->second) {
      out.emplace_back(i, b);
      asked[b] = true;
    }
  }
  for (u64 b = 0; b < build.size(); ++b)
    if (!asked[b]) out.emplace_back(no_row, b);
  return out;
}

// A join under way: its output with room for what is wanted and one row more.
struct output {
  explicit output(const pairs& want) : want(want), probe(want.size() + 1), build(want.size() + 1), matched(1), rest(1) {
    matched.fill(0);
    rest.fill(0);
  }
  pair_out rows(u8* asked = nullptr) const { return {probe.data(), build.data(), asked}; }
  void add_rest(u64 builds, const u32* groups, const u8* asked) const {
    if (builds == 0) return;
    device_array<u8> temporary(compact_temp_bytes<rest_policy>(builds));
    temporary.fill(0);
    rest_kernel<<<static_cast<u32>(compact_blocks<rest_policy>(builds, 20)), rest_policy::threads>>>(
        builds, groups, asked, temporary.data(), matched.data(), rest.data(), rows());
    finish();
  }
  void check() const {
    finish();
    ASSERT_EQ(matched.first() + rest.first(), want.size());
    const auto got_probe = probe.host(), got_build = build.host();
    for (u64 i = 0; i < want.size(); ++i) ASSERT_EQ(std::make_pair(got_probe[i], got_build[i]), want[i]) << i;
    ASSERT_EQ(got_probe.back(), 0xa5a5a5a5a5a5a5a5ull);
    ASSERT_EQ(got_build.back(), 0xa5a5a5a5a5a5a5a5ull);
  }
  const pairs& want;
  device_array<u64> probe, build, matched, rest;
};

template <outer Kind> constexpr join_kind probes = Kind == outer::full ? join_kind::left : join_kind::inner;

template <outer Kind> void check_unique(const std::vector<u64>& build, const std::vector<u64>& probe) {
  const device_array<u64> build_keys(build), probe_keys(probe);
  const u32 bits = join_table_bits(build.size());
  device_array<unique_table::slot> slots(table_slots(bits));
  slots.fill(0xff);
  const unique_table t{slots.data(), bits};
  device_array<u32> repeated(1);
  repeated.fill(0);
  build_kernel<<<13, 256>>>(build.size(), t, repeated.data(), build_side{build_keys.data()});
  finish();
  ASSERT_EQ(repeated.first(), 0u);

  const pairs want = expected(Kind, build, probe);
  const output out(want);
  device_array<u64> ticket(1), states(append_states(probe_tiles(probe.size(), 512, 2)));
  device_array<u8> asked(build.size());
  ticket.fill(0);
  states.fill(0);
  asked.fill(0);
  probe_kernel<probes<Kind>><<<7, 512>>>(probe.size(), t, ordered_append{ticket.data(), states.data(), out.matched.data()},
                                         probe_side{probe_keys.data()}, out.rows(asked.data()));
  out.add_rest(build.size(), nullptr, asked.data());
  out.check();
}

template <outer Kind> void check_repeated(const std::vector<u64>& build, const std::vector<u64>& probe) {
  const device_array<u64> build_keys(build), probe_keys(probe);
  const u32 bits = table_bits(build.size());
  device_array<hash_table_ref<keys, u32>::slot> slots(table_slots(bits));
  slots.fill(0xff);
  device_array<u64> id_count(1);
  device_array<u32> full(1), build_groups(build.size()), probe_groups(probe.size());
  id_count.fill(0);
  full.fill(0);
  const table t{{slots.data(), bits}, id_count.data(), build.size(), full.data()};
  map_kernel<<<13, 256>>>(build.size(), t, build_groups.data(), build_side{build_keys.data()});
  finish();
  ASSERT_EQ(full.first(), 0u);
  // Rows by group, in their order; those without a key lie behind all groups.
  const auto group_of = build_groups.host();
  const u64 count = id_count.first();
  std::vector<u64> rows(build.size()), offsets(count + 1);
  std::iota(rows.begin(), rows.end(), 0);
  std::stable_sort(rows.begin(), rows.end(), [&](u64 a, u64 b) { return group_of[a] < group_of[b]; });
  for (const u32 group : group_of)
    if (group != no_id) ++offsets[group + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  const device_array<u64> device_rows(rows), device_offsets(offsets);

  const pairs want = expected(Kind, build, probe);
  const output out(want);
  device_array<u8> asked(count);
  asked.fill(0);
  const u64 n = probe.size(), blocks = partner_blocks(n);
  device_array<u64> starts(blocks + 1);
  const match_source source{n, probe_groups.data(), nullptr, device_offsets.data()};
  if (blocks) {
    partners_kernel<<<static_cast<u32>(blocks), partner_threads>>>(n, t, probe_groups.data(), asked.data(), probe_side{probe_keys.data()});
    sums_kernel<probes<Kind>><<<static_cast<u32>(blocks), partner_threads>>>(source, starts.data());
  }
  scan_kernel<<<1, 1024>>>(blocks, starts.data());
  finish();
  const u64 total = starts.host().back();
  if (total)
    tiles_kernel<probes<Kind>><<<static_cast<u32>(partner_tiles(n, total)), partner_threads>>>(source, starts.data(), device_rows.data(),
                                                                                               out.rows());
  HASHING_CUDA(cudaMemcpy(out.matched.data(), &total, sizeof total, cudaMemcpyHostToDevice));
  out.add_rest(build.size(), build_groups.data(), asked.data());
  out.check();
}

std::vector<u64> widened(const std::vector<u32>& from) { return {from.begin(), from.end()}; }
void add_nulls(std::vector<u64>& to, u64 every) {
  for (u64 i = 0; i < to.size(); i += every) to[i] = null;
}

class OuterJoin : public Gpu {};

TEST_F(OuterJoin, distinct_build_keys) {
  for (const u64 n : edge_sizes()) {
    std::vector<u64> build(n / 3 + n % 2);
    for (u64 i = 0; i < build.size(); ++i) build[i] = i % 2 ? i * 3 : ~u64(0) - i;
    auto probe = widened(make_keys(n, n / 2 + 1, spread::uniform));
    for (u64 i = 0; i < n; i += 5) probe[i] = ~u64(0) - probe[i];
    for (const bool nulls : {false, true}) {
      SCOPED_TRACE(n);
      if (nulls) {
        add_nulls(build, 11);
        add_nulls(probe, 7);
      }
      check_unique<outer::right>(build, probe);
      check_unique<outer::full>(build, probe);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(OuterJoin, repeated_build_keys) {
  for (const u64 n : edge_sizes()) {
    const u64 m = std::min<u64>(n, 200000);
    auto build = widened(make_keys(m / 2, m / 4 + 1, spread::uniform, 3)), probe = widened(make_keys(m, m / 2 + 1, spread::extremes, 4));
    for (const bool nulls : {false, true}) {
      SCOPED_TRACE(n);
      if (nulls) {
        add_nulls(build, 11);
        add_nulls(probe, 7);
      }
      check_repeated<outer::right>(build, probe);
      check_repeated<outer::full>(build, probe);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(OuterJoin, sides_without_a_row_for_the_other) {
  std::vector<u64> low(5000), high(3000);
  for (u64 i = 0; i < low.size(); ++i) low[i] = i + 100;
  for (u64 i = 0; i < high.size(); ++i) high[i] = i + 100000;
  for (const auto& [build, probe] : {std::pair(low, high), std::pair(low, std::vector<u64>()), std::pair(std::vector<u64>(), low),
                                     std::pair(std::vector<u64>(500, null), high)}) {
    SCOPED_TRACE(std::to_string(build.size()) + " build rows, " + std::to_string(probe.size()) + " probe rows");
    check_unique<outer::right>(build, probe);
    check_unique<outer::full>(build, probe);
    check_repeated<outer::right>(build, probe);
    check_repeated<outer::full>(build, probe);
    if (HasFatalFailure()) return;
  }
}

TEST_F(OuterJoin, one_probe_row_with_fifty_thousand_partners) {
  auto build = widened(make_keys(3000, 2000, spread::uniform, 5));
  build.insert(build.end(), 50000, 2030);
  auto probe = widened(make_keys(5000, 4000, spread::uniform, 6));
  for (u64& key : probe) key = key == 2030 ? 0 : key;
  check_repeated<outer::right>(build, probe);  // that nobody asks for
  check_repeated<outer::full>(build, probe);
  if (HasFatalFailure()) return;
  probe[77] = 2030;
  check_repeated<outer::right>(build, probe);
  check_repeated<outer::full>(build, probe);
}

}  // namespace
