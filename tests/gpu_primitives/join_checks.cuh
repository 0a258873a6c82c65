// Joins of every kind against nested loops over a multimap, for keys of any width: each check builds, probes and expands, and compares rows
// and their order.
//
//   check_unique<bitwise_inputs<u64>, join_kind::left>(build, probe);      // numbers, of which keys are made (key_inputs.cuh)
//   check_repeated<text_inputs, join_kind::inner>(build, probe);
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <tuple>

#include "gpu_primitives/hash_join.cuh"
#include "gpu_primitives/join_tiles.cuh"
#include "key_inputs.cuh"

namespace {

using namespace query::gpu;
using namespace hashing_test;

template <class Column> struct build_rows {
  using key_type = typename Column::key_type;
  Column keys;
  __device__ bool operator()(u64 i, key_type& key, u64& payload) const {
    key = keys(i);
    payload = i;
    return true;
  }
};
template <class Column> build_rows(Column) -> build_rows<Column>;
struct no_args {};
template <class Column> struct probe_rows {
  using key_type = typename Column::key_type;
  Column keys;
  const u64* numbers;
  u64 dropped;  // rows with this number are filtered away
  __device__ bool operator()(u64 i, key_type& key, no_args&) const { return (*this)(i, key); }
  __device__ bool operator()(u64 i, key_type& key) const {
    key = keys(i);
    return numbers[i] != dropped;
  }
};
template <class Column> probe_rows(Column, const u64*, u64) -> probe_rows<Column>;
struct pair_out {
  u64* probe;
  u64* build;
  template <class Key>
  __device__ void operator()(u64 at, u64 probe_row, const Key&, const no_args&, bool matched, const u64& build_row) const {
    probe[at] = probe_row;
    build[at] = matched ? build_row : no_row;
  }
  __device__ void operator()(u64 at, u64 probe_row, u64 build_row) const {
    probe[at] = probe_row;
    build[at] = build_row;
  }
};
// Rows of several words, written by whole warps: words of eight bytes and of four.
struct three_words {
  u64 probe, build, both;
};
struct five_halves {
  u32 probe, build, both, seven, nine;
};
template <class Row> QUERY_GPU_BOTH Row row_of(u64 probe, u64 build) {
  if constexpr (sizeof(Row) == sizeof(three_words)) return {probe, build, probe ^ build};
  else return {static_cast<u32>(probe), static_cast<u32>(build), static_cast<u32>(probe ^ build), 7, 9};
}
template <class Row> struct row_maker {
  template <class Key> __device__ Row operator()(u64, u64 probe_row, const Key&, const no_args&, bool matched, const u64& build_row) const {
    return row_of<Row>(probe_row, matched ? build_row : no_row);
  }
  __device__ Row operator()(u64, u64 probe_row, u64 build_row) const { return row_of<Row>(probe_row, build_row); }
};
struct build_out {
  u64* build;
  template <class Key> __device__ void operator()(u64 at, const Key&, const u64& row) const { build[at] = row; }
  __device__ void operator()(u64 at, u64 row) const { build[at] = row; }
};
struct no_note {
  __device__ void operator()(u32, u64) const {}
};

template <class Keys, class From>
__global__ void build_kernel(u64 n, hash_table_ref<Keys, u64> t, u32* repeated, Keys keys, build_rows<From> row) {
  build_unique<4>(n, t, repeated, keys, row);
}
template <join_kind Kind, class Append, class Keys, class From>
__global__ void __launch_bounds__(256)
    probe_kernel(u64 n, hash_table_ref<Keys, u64> t, Append append, u8* matched, Keys keys, probe_rows<From> row, pair_out out) {
  probe_unique<Kind, 4, no_args>(n, t, append, matched, keys, row, out);
}
template <join_kind Kind, class Keys, class From>
__global__ void __launch_bounds__(128)
    pipelined_kernel(u64 n, hash_table_ref<Keys, u64> t, ordered_append append, Keys keys, probe_rows<From> row, pair_out out) {
  probe_unique_pipelined<Kind, 128, 2, no_args>(n, t, append, nullptr, keys, row, out);
}
template <join_kind Kind, class Row, class Keys, class From>
__global__ void __launch_bounds__(128)
    pipelined_rows_kernel(u64 n, hash_table_ref<Keys, u64> t, ordered_append append, Keys keys, probe_rows<From> row, Row* out) {
  probe_unique_pipelined<Kind, 128, 2, no_args>(n, t, append, nullptr, keys, row, whole_warp_rows<Row, 128, row_maker<Row>>{out, {}});
}
template <class Keys> __global__ void unmatched_kernel(hash_table_ref<Keys, u64> t, const u8* matched, u64* count, build_out out) {
  emit_unmatched_build(t, matched, count, out);
}
template <class Keys, class From> __global__ void map_kernel(u64 n, table_of_ids<Keys> t, u32* groups, Keys keys, probe_rows<From> row) {
  map_keys(n, t, groups, keys, row, no_note{});
}
__global__ void size_kernel(u64 n, const u32* groups, u64* sizes) { count_groups(n, groups, sizes); }
template <class Keys, class From>
__global__ void lookup_kernel(u64 n, table_of_ids<Keys> t, u32* groups, u8* live, u8* asked, Keys keys, probe_rows<From> row) {
  lookup_groups(n, t, groups, live, asked, keys, row);
}
template <join_kind Kind> __global__ void __launch_bounds__(match_threads) count_kernel(match_source s, u64* entries, u64* outputs) {
  count_matches<Kind>(s, entries, outputs);
}
__global__ void scan_kernel(u64 n, u64* values) { scan_blocks(n, values); }
template <join_kind Kind>
__global__ void __launch_bounds__(match_threads) list_kernel(match_source s, const u64* entries, const u64* outputs, match_entry* list) {
  list_matches<Kind>(s, entries, outputs, list);
}
__global__ void __launch_bounds__(expand_threads)
    expand_kernel(u64 outputs, const match_entry* list, u64 entries, const u64* rows, pair_out out) {
  expand_matches(outputs, list, entries, rows, out);
}
template <class Row>
__global__ void __launch_bounds__(expand_threads)
    expand_rows_kernel(u64 outputs, const match_entry* list, u64 entries, const u64* rows, Row* out) {
  expand_matches(outputs, list, entries, rows, whole_warp_rows<Row, expand_threads, row_maker<Row>>{out, {}});
}
__global__ void offsets_kernel(u64 n, const u32* sorted, u64* offsets) { offsets_of_sorted(n, sorted, offsets); }
template <class Keys, class From>
__global__ void __launch_bounds__(partner_threads)
    partners_kernel(u64 n, table_of_ids<Keys> t, u32* groups, u8* asked, Keys keys, probe_rows<From> row) {
  find_partners(n, t, groups, asked, keys, row);
}
template <join_kind Kind> __global__ void __launch_bounds__(partner_threads) sums_kernel(match_source s, u64* sums) {
  count_partners<Kind>(s, sums);
}
template <join_kind Kind>
__global__ void __launch_bounds__(partner_threads) tiles_kernel(match_source s, const u64* starts, const u64* rows, pair_out out) {
  expand_partners<Kind>(s, starts, rows, out);
}
template <join_kind Kind, class Row>
__global__ void __launch_bounds__(partner_threads) tile_rows_kernel(match_source s, const u64* starts, const u64* rows, Row* out) {
  expand_partners<Kind>(s, starts, rows, whole_warp_rows<Row, partner_threads, row_maker<Row>>{out, {}});
}
__global__ void unasked_kernel(u64 n, const u32* groups, const u8* asked, u64* count, build_out out) {
  unmatched_groups(n, groups, asked, count, out);
}

using pairs = std::vector<std::pair<u64, u64>>;
constexpr u64 dropped = 999999999;

// In order of probe rows, partners in order of build rows.
pairs expected(join_kind kind, const std::vector<u64>& build, const std::vector<u64>& probe) {
  std::map<u64, std::vector<u64>> rows;
  for (u64 i = 0; i < build.size(); ++i) rows[build[i]].push_back(i);
  pairs out;
  for (u64 i = 0; i < probe.size(); ++i) {
    if (probe[i] == dropped) continue;
    const auto at = rows.find(probe[i]);
    const bool found = at != rows.end();
    if (kind == join_kind::semi || kind == join_kind::anti) {
      if (found == (kind == join_kind::semi)) out.emplace_back(i, found ? at->second[0] : no_row);
    } else if (found) {
      for (const u64 b : at->second) out.emplace_back(i, b);
    } else if (kind == join_kind::left) {
      out.emplace_back(i, no_row);
    }
  }
  return out;
}

std::vector<u64> unmatched(const std::vector<u64>& build, const std::vector<u64>& probe) {
  std::map<u64, int> asked;
  for (const u64 k : probe) {
    if (k != dropped) asked[k] = 1;
  }
  std::vector<u64> out;
  for (u64 i = 0; i < build.size(); ++i) {
    if (!asked.count(build[i])) out.push_back(i);
  }
  return out;
}

// `write` launches what fills its argument with the rows of `want`, and no more.
template <class Row, class Write> void check_rows(const pairs& want, const Write& write) {
  device_array<Row> out(want.size() + 1);
  out.fill(0xa5);
  write(out.data());
  finish();
  const auto got = out.host(want.size() + 1);
  for (u64 i = 0; i < want.size(); ++i) {
    const Row row = row_of<Row>(want[i].first, want[i].second);
    ASSERT_EQ(std::memcmp(&got[i], &row, sizeof row), 0) << i;
  }
  Row untouched;
  std::memset(&untouched, 0xa5, sizeof untouched);
  ASSERT_EQ(std::memcmp(&got.back(), &untouched, sizeof untouched), 0);
}

// Inputs: bitwise_inputs or text_inputs.
template <class Inputs, join_kind Kind> void check_unique(const std::vector<u64>& build, const std::vector<u64>& probe) {
  using keys = typename Inputs::keys_type;
  const Inputs in(build, probe);
  const device_array<u64> probe_numbers(probe);
  const probe_rows probe_side{in.second(), probe_numbers.data(), dropped};
  const u32 bits = join_table_bits(build.size());
  device_array<typename hash_table_ref<keys, u64>::slot> slots(table_slots(bits));
  slots.fill(0xff);
  const hash_table_ref<keys, u64> table{slots.data(), bits};
  device_array<u32> repeated(1);
  repeated.fill(0);
  build_kernel<<<13, 256>>>(build.size(), table, repeated.data(), in.keys(), build_rows{in.first()});
  finish();
  ASSERT_EQ(repeated.first(), 0u);

  const u64 n = probe.size(), tiles = probe_tiles(n, 256, 4);
  device_array<u64> ticket(1), states(append_states(tiles)), total(1), out_probe(n + 1), out_build(n + 1), rest(build.size() + 1),
      rest_count(1);
  device_array<u8> matched(table_slots(bits));
  ticket.fill(0);
  states.fill(0);
  total.fill(0);
  matched.fill(0);
  rest_count.fill(0);
  if (tiles != 0) {
    probe_kernel<Kind><<<static_cast<u32>(tiles), 256>>>(n, table, ordered_append{ticket.data(), states.data(), total.data()},
                                                         matched.data(), in.keys(), probe_side,
                                                         pair_out{out_probe.data(), out_build.data()});
  }
  unmatched_kernel<<<5, 256>>>(table, matched.data(), rest_count.data(), build_out{rest.data()});
  finish();
  const auto want = expected(Kind, build, probe);
  ASSERT_EQ(total.first(), want.size());
  const auto got_probe = out_probe.host(want.size()), got_build = out_build.host(want.size());
  for (u64 i = 0; i < want.size(); ++i) ASSERT_EQ(std::make_pair(got_probe[i], got_build[i]), want[i]) << i;
  auto got_rest = rest.host(rest_count.first());
  std::sort(got_rest.begin(), got_rest.end());
  ASSERT_EQ(got_rest, unmatched(build, probe));

  // The same by few blocks that take many tiles.
  device_array<u64> more_states(append_states(probe_tiles(n, 128, 2)));
  ticket.fill(0);
  more_states.fill(0);
  total.fill(0);
  out_probe.fill(0xa5);
  out_build.fill(0xa5);
  pipelined_kernel<Kind><<<9, 128>>>(n, table, ordered_append{ticket.data(), more_states.data(), total.data()},
                                     in.keys(), probe_side, pair_out{out_probe.data(), out_build.data()});
  finish();
  ASSERT_EQ(total.first(), want.size());
  const auto again_probe = out_probe.host(want.size()), again_build = out_build.host(want.size());
  for (u64 i = 0; i < want.size(); ++i) ASSERT_EQ(std::make_pair(again_probe[i], again_build[i]), want[i]) << i;

  // The same by rows of several words.
  const auto by_warps = [&](auto* rows) {
    ticket.fill(0);
    more_states.fill(0);
    pipelined_rows_kernel<Kind><<<9, 128>>>(n, table, ordered_append{ticket.data(), more_states.data(), total.data()},
                                            in.keys(), probe_side, rows);
  };
  check_rows<three_words>(want, by_warps);
  check_rows<five_halves>(want, by_warps);
  if (testing::Test::HasFatalFailure()) return;

  // The same without order.
  total.fill(0);
  if (tiles != 0) {
    probe_kernel<Kind><<<static_cast<u32>(tiles), 256>>>(n, table, unordered_append{total.data()}, static_cast<u8*>(nullptr),
                                                         in.keys(), probe_side, pair_out{out_probe.data(), out_build.data()});
  }
  finish();
  ASSERT_EQ(total.first(), want.size());
  const auto any_probe = out_probe.host(want.size()), any_build = out_build.host(want.size());
  pairs got;
  for (u64 i = 0; i < want.size(); ++i) got.emplace_back(any_probe[i], any_build[i]);
  std::sort(got.begin(), got.end());
  ASSERT_EQ(got, want);
}

// The same by tiles of the path through blocks of probe rows and their output.
template <join_kind Kind, class Keys, class Column>
void check_tiles(const pairs& want, const table_of_ids<Keys>& table, const std::vector<u32>& group_of_build, u64 n, const Keys& keys,
                 const probe_rows<Column>& probe_side, const device_array<u64>& rows_of_build, const std::vector<u64>& offsets,
                 const std::vector<u32>& groups, const std::vector<u8>& live, const std::vector<u8>& asked) {
  auto sorted = group_of_build;
  std::sort(sorted.begin(), sorted.end());
  device_array<u32> device_sorted(sorted), probe_groups(n);
  device_array<u64> device_offsets(offsets.size());
  device_offsets.fill(0);
  offsets_kernel<<<5, 256>>>(sorted.size(), device_sorted.data(), device_offsets.data());
  finish();
  ASSERT_EQ(device_offsets.host(), offsets);
  device_array<u8> device_live(live), device_asked(asked.size());
  device_asked.fill(0);
  const u64 blocks = partner_blocks(n);
  if (!blocks) return;
  partners_kernel<<<static_cast<u32>(blocks), partner_threads>>>(n, table, probe_groups.data(), device_asked.data(), keys,
                                                               probe_side);
  device_array<u64> starts(blocks + 1);
  const match_source source{n, probe_groups.data(), device_live.data(), device_offsets.data()};
  sums_kernel<Kind><<<static_cast<u32>(blocks), partner_threads>>>(source, starts.data());
  scan_kernel<<<1, 1024>>>(blocks, starts.data());
  finish();
  ASSERT_EQ(probe_groups.host(), groups);
  ASSERT_EQ(device_asked.host(), asked);
  const u64 total = starts.host().back();
  ASSERT_EQ(total, want.size());
  if (!total) return;
  const u32 tiles = static_cast<u32>(partner_tiles(n, total));
  device_array<u64> out_probe(total), out_build(total);
  tiles_kernel<Kind><<<tiles, partner_threads>>>(source, starts.data(), rows_of_build.data(), pair_out{out_probe.data(), out_build.data()});
  finish();
  const auto got_probe = out_probe.host(), got_build = out_build.host();
  for (u64 i = 0; i < total; ++i) ASSERT_EQ(std::make_pair(got_probe[i], got_build[i]), want[i]) << i;
  const auto by_warps = [&](auto* rows) {
    tile_rows_kernel<Kind><<<tiles, partner_threads>>>(source, starts.data(), rows_of_build.data(), rows);
  };
  check_rows<three_words>(want, by_warps);
  check_rows<five_halves>(want, by_warps);
}

template <class Inputs, join_kind Kind> void check_repeated(const std::vector<u64>& build, const std::vector<u64>& probe) {
  using keys = typename Inputs::keys_type;
  const u64 none = 999999998;  // no row is dropped on this side
  const Inputs in(build, probe);
  const device_array<u64> build_numbers(build), probe_numbers(probe);
  const probe_rows build_side{in.first(), build_numbers.data(), none}, probe_side{in.second(), probe_numbers.data(), dropped};
  const u32 bits = table_bits(build.size());
  device_array<typename hash_table_ref<keys, u32>::slot> slots(table_slots(bits));
  slots.fill(0xff);
  device_array<u64> id_count(1);
  device_array<u32> full(1), build_groups(build.size()), probe_groups(probe.size());
  id_count.fill(0);
  full.fill(0);
  const table_of_ids<keys> table{{slots.data(), bits}, id_count.data(), build.size(), full.data()};
  map_kernel<<<13, 256>>>(build.size(), table, build_groups.data(), in.keys(), build_side);
  finish();
  ASSERT_EQ(full.first(), 0u);
  const u64 count = id_count.first();
  // Stable rows by group, as a radix sort of (group, row) leaves them.
  const auto group_of = build_groups.host();
  std::vector<u64> rows(build.size()), sizes(count), offsets(count + 1);
  std::iota(rows.begin(), rows.end(), 0);
  std::stable_sort(rows.begin(), rows.end(), [&](u64 a, u64 b) { return group_of[a] < group_of[b]; });
  device_array<u64> device_sizes(count);
  device_sizes.fill(0);
  size_kernel<<<5, 256>>>(build.size(), build_groups.data(), device_sizes.data());
  finish();
  sizes = device_sizes.host();
  std::partial_sum(sizes.begin(), sizes.end(), offsets.begin() + 1);
  device_array<u64> device_rows(rows), device_offsets(offsets);

  device_array<u8> live(probe.size()), asked(count);
  asked.fill(0);
  lookup_kernel<<<13, 256>>>(probe.size(), table, probe_groups.data(), live.data(), asked.data(), in.keys(),
                              probe_side);
  const u64 blocks = match_blocks(probe.size());
  device_array<u64> entries(blocks + 1), outputs(blocks + 1), rest(build.size() + 1), rest_count(1);
  rest_count.fill(0);
  const match_source source{probe.size(), probe_groups.data(), live.data(), device_offsets.data()};
  if (blocks) count_kernel<Kind><<<static_cast<u32>(blocks), match_threads>>>(source, entries.data(), outputs.data());
  scan_kernel<<<1, 1024>>>(blocks, entries.data());
  scan_kernel<<<1, 1024>>>(blocks, outputs.data());
  finish();
  const u64 listed = entries.host().back(), total = outputs.host().back();
  const auto want = expected(Kind, build, probe);
  ASSERT_EQ(total, want.size());
  device_array<match_entry> list(listed);
  device_array<u64> out_probe(total), out_build(total);
  if (blocks) list_kernel<Kind><<<static_cast<u32>(blocks), match_threads>>>(source, entries.data(), outputs.data(), list.data());
  if (total) {
    expand_kernel<<<static_cast<u32>(expand_blocks(total)), expand_threads>>>(total, list.data(), listed, device_rows.data(),
                                                                              pair_out{out_probe.data(), out_build.data()});
  }
  unasked_kernel<<<5, 256>>>(build.size(), build_groups.data(), asked.data(), rest_count.data(), build_out{rest.data()});
  finish();
  const auto by_warps = [&](auto* rows) {
    if (total) {
      expand_rows_kernel<<<static_cast<u32>(expand_blocks(total)), expand_threads>>>(total, list.data(), listed, device_rows.data(), rows);
    }
  };
  check_rows<three_words>(want, by_warps);
  check_rows<five_halves>(want, by_warps);
  if (testing::Test::HasFatalFailure()) return;
  const auto got_probe = out_probe.host(), got_build = out_build.host();
  for (u64 i = 0; i < total; ++i) ASSERT_EQ(std::make_pair(got_probe[i], got_build[i]), want[i]) << i;
  auto got_rest = rest.host(rest_count.first());
  std::sort(got_rest.begin(), got_rest.end());
  ASSERT_EQ(got_rest, unmatched(build, probe));
  check_tiles<Kind>(want, table, group_of, probe.size(), in.keys(), probe_side, device_rows, offsets, probe_groups.host(), live.host(),
                    asked.host());
}

}  // namespace
