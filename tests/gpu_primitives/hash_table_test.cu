// The hash table and the grouper on top of it: dense ids, every key width and value, strings by row, growth, contiguous groups.
#include "gpu_primitives/hash_table.cuh"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>

#include "gpu_primitives/grouper.cuh"
#include "hashing_fixture.cuh"

using namespace query::gpu;
using namespace hashing_test;

namespace {

struct key_row {
  u64 low, high;
};

template <class Key> struct column {
  const Key* keys;
  __device__ bool operator()(u64 i, Key& key) const {
    key = keys[i];
    return true;
  }
};
struct no_note {
  __device__ void operator()(u32, u64) const {}
};
struct note_row {
  u64* made_by;
  __device__ void operator()(u32 id, u64 i) const { made_by[id] = i; }
};

template <class Keys, class Row, class Created>
__global__ void map_kernel(u64 n, table_of_ids<Keys> t, u32* groups, Keys keys, Row row, Created created) {
  map_keys(n, t, groups, keys, row, created);
}
template <class Keys> __global__ void grow_kernel(table_of_ids<Keys> from, table_of_ids<Keys> to, Keys keys) { grow_ids(from, to, keys); }
__global__ void count_kernel(u64 n, const u32* groups, u64* sizes) { count_groups(n, groups, sizes); }
__global__ void shuffle_kernel(u64 n, const u32* groups, u64* cursors, u64* rows) { shuffle_rows(n, groups, cursors, rows); }
__global__ void first_kernel(u64 n, const u32* groups, u64* first) { first_rows_of_groups(n, groups, first); }
struct mark {
  u8* flags;
  __device__ void operator()(u64 i) const { flags[i] += 1; }
};
template <class Keys, class Row> __global__ void presence_kernel(u64 n, table_of_ids<Keys> t, bool wanted, Keys keys, Row row, mark emit) {
  rows_by_presence(n, t, wanted, keys, row, emit);
}
__global__ void canonical_kernel(u64 n, const double* values, u64* bits) {
  for (u64 i = threadIdx.x; i < n; i += blockDim.x) bits[i] = canonical_bits(values[i]);
}

// Host side of the table of ids: starts at `bits` and grows as often as it takes.
template <class Keys> class id_table {
 public:
  using slot = typename hash_table_ref<Keys, u32>::slot;
  id_table(u32 bits, Keys keys) : keys_(keys), bits_(bits), slots_(table_slots(bits)) {
    slots_.fill(0xff);
    count_.fill(0);
  }
  template <class Row, class Created> std::vector<u32> map(u64 n, const Row& row, const Created& created) {
    device_array<u32> groups(n);
    while (true) {
      full_.fill(0);
      map_kernel<<<23, 256>>>(n, ref(), groups.data(), keys_, row, created);
      finish();
      if (full_.first() == 0) break;
      grow();
      if (::testing::Test::HasFatalFailure()) break;
    }
    return groups.host();
  }
  table_of_ids<Keys> ref() const { return {{slots_.data(), bits_}, count_.data(), (u64(1) << bits_) / 2, full_.data()}; }
  u64 size() const { return count_.first(); }
  int growths() const { return growths_; }

 private:
  void grow() {
    ASSERT_LT(++growths_, 30);
    const auto old = ref();
    const u64 count = std::min(count_.first(), old.most_ids);
    HASHING_CUDA(cudaMemcpy(count_.data(), &count, sizeof(count), cudaMemcpyHostToDevice));
    device_array<slot> larger(table_slots(bits_ + 1));
    larger.fill(0xff);
    full_.fill(0);
    std::swap(slots_, larger);
    ++bits_;
    grow_kernel<<<23, 256>>>(old, ref(), keys_);
    finish();
    ASSERT_EQ(full_.first(), 0u);
  }
  Keys keys_;
  u32 bits_;
  device_array<slot> slots_;
  device_array<u64> count_{1};
  device_array<u32> full_{1};
  int growths_ = 0;
};

class HashTable : public Gpu {};
class Grouper : public Gpu {};

// Equal keys have one id, others different ones, and ids are 0 ... distinct - 1.
template <class Key> void expect_ids(const std::vector<Key>& keys, const std::vector<u32>& ids, u64 count) {
  std::map<Key, u32> id_of;
  std::vector<int> used(count);
  for (u64 i = 0; i < keys.size(); ++i) {
    ASSERT_LT(ids[i], count) << i;
    const auto [at, fresh] = id_of.try_emplace(keys[i], ids[i]);
    ASSERT_EQ(at->second, ids[i]) << i;
    if (fresh) ++used[ids[i]];
  }
  ASSERT_EQ(id_of.size(), count);
  for (const int u : used) ASSERT_EQ(u, 1);
}

template <class Key> void check_ids(const std::vector<Key>& keys, u32 bits, bool must_grow = false) {
  device_array<Key> column_of_keys(keys);
  device_array<u64> made_by(keys.size() + 1);
  id_table<bitwise_keys<Key>> table(bits, {});
  const auto ids = table.map(keys.size(), column<Key>{column_of_keys.data()}, note_row{made_by.data()});
  expect_ids(keys, ids, table.size());
  const auto rows = made_by.host(table.size());
  for (u64 id = 0; id < rows.size(); ++id) ASSERT_EQ(ids[rows[id]], id);
  if (must_grow) {
    EXPECT_GT(table.growths(), 2);
  }
}

TEST_F(HashTable, gives_dense_ids_for_all_spreads_and_sizes) {
  for (const u64 n : edge_sizes()) {
    for (const spread s :
         {spread::all_equal, spread::all_distinct, spread::few, spread::uniform, spread::zipf, spread::heavy, spread::extremes}) {
      SCOPED_TRACE(std::string(name_of(s)) + " n=" + std::to_string(n));
      check_ids(make_keys(n, 700, s), table_bits(n));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(HashTable, takes_every_key_of_8_bytes) {
  std::vector<u64> keys;
  for (u64 i = 0; i < 5000; ++i) {
    for (const u64 k : {i, ~i, i << 32, ~(i << 32), i << 50, (i << 32) | i}) keys.push_back(k);
  }
  check_ids(keys, table_bits(keys.size()));
  check_ids(std::vector<u64>(3000, ~u64(0)), 5);
}

bool operator<(const key_row& a, const key_row& b) { return a.low != b.low ? a.low < b.low : a.high < b.high; }

TEST_F(HashTable, takes_keys_of_16_bytes) {
  std::vector<key_row> keys;
  for (u64 i = 0; i < 20000; ++i) {
    keys.push_back({i % 300, i % 7});
    keys.push_back({~(i % 50), ~u64(0)});
    keys.push_back({~u64(0), ~(i % 50)});
  }
  check_ids(keys, 13);
}

TEST_F(HashTable, grows_from_almost_nothing) {
  check_ids(make_keys(100003, 0, spread::all_distinct), 2, true);
  std::vector<u64> wide(70001);
  std::iota(wide.begin(), wide.end(), ~u64(0) - 35000);
  check_ids(wide, 2, true);
  std::vector<key_row> wider(30001);
  for (u64 i = 0; i < wider.size(); ++i) wider[i] = {i, ~i};
  check_ids(wider, 3, true);
}

// Strings as offsets into bytes: the row is the key, equality reads the bytes.
struct strings {
  const u32* offsets;
  const char* bytes;
  __device__ bool operator()(u64 a, u64 b) const {
    const u32 size = offsets[a + 1] - offsets[a];
    if (size != offsets[b + 1] - offsets[b]) return false;
    for (u32 i = 0; i < size; ++i) {
      if (bytes[offsets[a] + i] != bytes[offsets[b] + i]) return false;
    }
    return true;
  }
};
struct string_rows {
  strings text;
  bool one_hash;
  __device__ bool operator()(u64 i, row_key& key) const {
    u64 hash = 1469598103934665603ull;
    for (u32 at = text.offsets[i]; at < text.offsets[i + 1]; ++at) hash = (hash ^ static_cast<u8>(text.bytes[at])) * 1099511628211ull;
    key = row_key{one_hash ? 5 : hash, i};
    return true;
  }
};

TEST_F(HashTable, compares_strings_by_row) {
  for (const bool one_hash : {false, true}) {
    std::vector<std::string> words;
    for (u64 i = 0; i < 9000; ++i) words.push_back(i % 11 == 0 ? std::string() : "word " + std::to_string(i * i % (one_hash ? 37 : 1777)));
    std::vector<u32> offsets{0};
    std::vector<char> bytes;
    for (const auto& w : words) {
      bytes.insert(bytes.end(), w.begin(), w.end());
      offsets.push_back(static_cast<u32>(bytes.size()));
    }
    device_array<u32> device_offsets(offsets);
    device_array<char> device_bytes(bytes);
    const strings text{device_offsets.data(), device_bytes.data()};
    id_table<row_keys<strings>> table(12, {text});
    const auto ids = table.map(words.size(), string_rows{text, one_hash}, no_note{});
    expect_ids(words, ids, table.size());
  }
}

template <class Key, class Payload> using plain_table = hash_table_ref<bitwise_keys<Key>, Payload>;

// Every key is claimed `times` times, by threads of different blocks.
template <class Key, class Payload>
__global__ void claim_kernel(const Key* k, u64 n, u64 times, plain_table<Key, Payload> t, u64* fresh_claims, u64* refused) {
  const bitwise_keys<Key> keys;
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n * times; i += u64(gridDim.x) * blockDim.x) {
    const Key key = k[(i + i / n * 977) % n];
    bool fresh;
    if (find_or_claim(t, keys, key, keys.hash(key), fresh) == no_slot) atomicAdd(refused, 1ull);
    if (fresh) atomicAdd(fresh_claims, 1ull);
  }
}
// Whether a look-up finds every slot where its key is, and no slot before it, in the order of the probe, is empty or has the key.
template <class Key, class Payload> __global__ void places_kernel(plain_table<Key, Payload> t, u64* taken, u64* wrong) {
  const bitwise_keys<Key> keys;
  for (u64 at = u64(blockIdx.x) * blockDim.x + threadIdx.x; at < table_slots(t.bits); at += u64(gridDim.x) * blockDim.x) {
    if (!slot_taken(t, at)) continue;
    atomicAdd(taken, 1ull);
    const Key key = slot_key(t, at);
    if (find_slot(t, keys, key, keys.hash(key)) != at) atomicAdd(wrong, 1ull);
    if (at > t.mask()) continue;
    const u64 home = t.home(keys.hash(key));
    u32 probes = 0;
    for (u64 before = home; before != at && probes <= longest_probe; before = t.next(before, home), ++probes) {
      if (!slot_taken(t, before) || keys.equal(slot_key(t, before), key)) atomicAdd(wrong, 1ull);
    }
    if (probes > longest_probe) atomicAdd(wrong, 1ull);
  }
}
template <class Key, class Payload>
__global__ void absent_kernel(u64 first, u64 n, plain_table<Key, Payload> t, u64* wrong) {
  const bitwise_keys<Key> keys;
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    Key key{};
    const u64 number = first + i;
    memcpy(&key, &number, sizeof(key) < 8 ? sizeof(key) : 8);
    if (find_slot(t, keys, key, keys.hash(key)) != no_slot) atomicAdd(wrong, 1ull);
  }
}

template <class Key, class Payload> void check_places(u64 distinct, u32 bits) {
  std::vector<Key> keys(distinct);
  for (u64 i = 0; i < distinct; ++i) {
    const u64 number = i + 1 == distinct ? ~u64(0) : i;  // the key that has a slot of its own, too
    keys[i] = Key{};
    std::memcpy(&keys[i], &number, std::min<std::size_t>(sizeof(Key), 8));
  }
  device_array<Key> column_of_keys(keys);
  device_array<typename plain_table<Key, Payload>::slot> slots(table_slots(bits));
  slots.fill(0xff);
  const plain_table<Key, Payload> t{slots.data(), bits};
  device_array<u64> fresh(1), refused(1), taken(1), wrong(1);
  for (auto* counter : {&fresh, &refused, &taken, &wrong}) counter->fill(0);
  claim_kernel<<<64, 256>>>(column_of_keys.data(), distinct, 7, t, fresh.data(), refused.data());
  places_kernel<<<64, 256>>>(t, taken.data(), wrong.data());
  absent_kernel<<<64, 256>>>(distinct, distinct, t, wrong.data());
  finish();
  EXPECT_EQ(refused.first(), 0u);
  EXPECT_EQ(fresh.first(), distinct);
  EXPECT_EQ(taken.first(), distinct);
  EXPECT_EQ(wrong.first(), 0u);
}

TEST_F(HashTable, keys_lie_in_the_first_free_place_of_their_probe) {
  for (const u32 bits : {5u, 10u, 17u}) {
    for (const double load : {0.25, 0.5, 0.7, 0.85}) {
      SCOPED_TRACE("2^" + std::to_string(bits) + " slots, filled to " + std::to_string(load));
      const u64 distinct = static_cast<u64>(load * static_cast<double>(u64(1) << bits));
      check_places<u32, u32>(distinct, bits);
      check_places<u32, u64>(distinct, bits);
      check_places<u64, u32>(distinct, bits);
      check_places<u64, u64>(distinct, bits);
      check_places<u32, key_row>(distinct, bits);
      check_places<key_row, u64>(distinct, bits);
    }
  }
}

TEST_F(HashTable, canonical_bits_make_one_zero_and_one_nan) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  device_array<double> values(std::vector<double>{0.0, -0.0, nan, -nan, std::nan("7"), inf, -inf, 1.5, -1.5});
  device_array<u64> bits(values.size());
  canonical_kernel<<<1, 32>>>(values.size(), values.data(), bits.data());
  finish();
  const auto got = bits.host();
  EXPECT_EQ(got[0], got[1]);
  EXPECT_EQ(got[2], got[3]);
  EXPECT_EQ(got[2], got[4]);
  std::vector<u64> distinct{got[0], got[2], got[5], got[6], got[7], got[8]};
  std::sort(distinct.begin(), distinct.end());
  EXPECT_EQ(std::unique(distinct.begin(), distinct.end()) - distinct.begin(), 6);
  check_ids(got, 5);
}

TEST_F(Grouper, makes_groups_contiguous) {
  for (const u64 n : edge_sizes()) {
    for (const spread s : {spread::all_equal, spread::all_distinct, spread::zipf, spread::heavy}) {
      SCOPED_TRACE(std::string(name_of(s)) + " n=" + std::to_string(n));
      const auto keys = make_keys(n, 500, s);
      device_array<u32> column_of_keys(keys);
      id_table<bitwise_keys<u32>> table(table_bits(n), {});
      const auto groups = table.map(n, column<u32>{column_of_keys.data()}, no_note{});
      const u64 count = table.size();
      device_array<u32> group_of(groups);
      device_array<u64> sizes(count), rows(n), first(count);
      sizes.fill(0);
      first.fill(0xff);
      count_kernel<<<7, 256>>>(n, group_of.data(), sizes.data());
      first_kernel<<<7, 256>>>(n, group_of.data(), first.data());
      finish();
      const auto got_sizes = sizes.host();
      std::vector<u64> offsets(count + 1);
      std::partial_sum(got_sizes.begin(), got_sizes.end(), offsets.begin() + 1);
      ASSERT_EQ(offsets.back(), n);
      device_array<u64> cursors(offsets);
      shuffle_kernel<<<7, 256>>>(n, group_of.data(), cursors.data(), rows.data());
      finish();
      auto got = rows.host();
      const auto got_first = first.host();
      for (u64 g = 0; g < count; ++g) {
        for (u64 at = offsets[g]; at < offsets[g + 1]; ++at) ASSERT_EQ(groups[got[at]], g);
        ASSERT_EQ(got_first[g],
                  *std::min_element(got.begin() + static_cast<long>(offsets[g]), got.begin() + static_cast<long>(offsets[g + 1])));
      }
      std::sort(got.begin(), got.end());
      for (u64 i = 0; i < n; ++i) ASSERT_EQ(got[i], i);
    }
  }
}

TEST_F(Grouper, finds_rows_by_presence) {
  const auto left = make_keys(40000, 3000, spread::uniform, 1);
  const auto right = make_keys(1500, 3000, spread::extremes, 2);
  device_array<u32> left_keys(left), right_keys(right);
  id_table<bitwise_keys<u32>> table(table_bits(right.size()), {});
  table.map(right.size(), column<u32>{right_keys.data()}, no_note{});
  const std::map<u32, int> have = [&] {
    std::map<u32, int> m;
    for (const u32 k : right) m[k] = 1;
    return m;
  }();
  for (const bool wanted : {true, false}) {
    device_array<u8> flags(left.size());
    flags.fill(0);
    presence_kernel<<<7, 256>>>(left.size(), table.ref(), wanted, bitwise_keys<u32>{}, column<u32>{left_keys.data()}, mark{flags.data()});
    finish();
    const auto got = flags.host();
    for (u64 i = 0; i < left.size(); ++i) ASSERT_EQ(got[i], have.count(left[i]) == (wanted ? 1u : 0u) ? 1 : 0);
  }
}

}  // namespace
