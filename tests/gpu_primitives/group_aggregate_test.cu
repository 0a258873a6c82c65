// Every tier of the fused group-by against a plain loop over a std::map, for sizes around tiles, spreads of keys and kinds of states.
#include "gpu_primitives/group_aggregate.cuh"

#include <algorithm>
#include <limits>
#include <map>

#include "gpu_primitives/atomics.cuh"
#include "hashing_fixture.cuh"

using namespace query::gpu;
using namespace hashing_test;

namespace {

struct row_args {
  double v;
};

// Sum, count and extremes: fields of several types, with the atomic form.
struct statistics {
  struct State {
    double sum;
    u64 count;
    double least;
    u32 most;
    u32 unused;
  };
  using Args = row_args;
  static __device__ void init(State& s) { s = State{0, 0, __longlong_as_double(0x7ff0000000000000ll), 0, 0}; }
  static __device__ void update(State& s, const Args& a) {
    s.sum += a.v;
    ++s.count;
    if (a.v < s.least) s.least = a.v;
    s.most = larger(s.most, static_cast<u32>(a.v));
  }
  static __device__ void merge(State& s, const State& o) {
    s.sum += o.sum;
    s.count += o.count;
    if (o.least < s.least) s.least = o.least;
    s.most = larger(s.most, o.most);
  }
  static __device__ void update_atomic(State& s, const Args& a) {
    atomic_add(&s.sum, a.v);
    atomic_add(&s.count, u64(1));
    atomic_min(&s.least, a.v);
    atomic_max(&s.most, static_cast<u32>(a.v));
  }
  static __device__ void merge_atomic(State& s, const State& o) {
    atomic_add(&s.sum, o.sum);
    atomic_add(&s.count, o.count);
    atomic_min(&s.least, o.least);
    atomic_max(&s.most, o.most);
  }
};

// The same without the atomic form: locks in the global table.
struct locked_statistics {
  using State = statistics::State;
  using Args = row_args;
  static __device__ void init(State& s) { statistics::init(s); }
  static __device__ void update(State& s, const Args& a) { statistics::update(s, a); }
  static __device__ void merge(State& s, const State& o) { statistics::merge(s, o); }
};

// Rows whose key is a function of 32 bits, so that one reference serves all widths. Values below `least` are dropped.
struct key_row {
  u64 low, high;
};
__host__ __device__ inline void widen(u32 bits, u32& key) { key = bits; }
__host__ __device__ inline void widen(u32 bits, u64& key) { key = bits > 0xfffffff0u ? ~u64(0) - (0xffffffffu - bits) : u64(bits) << 7; }
__host__ __device__ inline void widen(u32 bits, key_row& key) {
  key = bits > 0xfffffff0u ? key_row{~0ull, ~0ull - (0xffffffffu - bits)} : key_row{7, bits};
}
inline u32 narrow(u32 key) { return key; }
inline u32 narrow(u64 key) { return key > ~u64(0) - 15 ? 0xffffffffu - static_cast<u32>(~u64(0) - key) : static_cast<u32>(key >> 7); }
inline u32 narrow(const key_row& key) {
  return key.low == 7 ? static_cast<u32>(key.high) : 0xffffffffu - static_cast<u32>(~0ull - key.high);
}

template <class Key> struct rows_in {
  const u32* k;
  const double* v;
  double least;
  __device__ bool operator()(u64 i, Key& key, row_args& a) const {
    widen(k[i], key);
    a.v = v[i];
    return a.v >= least;
  }
};

template <class Key> struct groups_out {
  Key* keys;
  statistics::State* states;
  __device__ void operator()(u64 at, const Key& key, const statistics::State& s) const {
    keys[at] = key;
    states[at] = s;
  }
};

template <class Keys, class A> __global__ void init_kernel(group_table<Keys, A> t) { init_groups<Keys, A>(t); }
template <class Keys, class A, class Row>
__global__ void __launch_bounds__(256) global_kernel(group_rows rows, group_table<Keys, A> t, tiles_again again, Row row) {
  aggregate_global<4>(rows, t, again, Keys{}, row);
}
template <group_copies C, class Keys, class A, class Row>
__global__ void __launch_bounds__(1024, 1) shared_kernel(shared_group_params<Keys, A> p, Row row) {
  extern __shared__ __align__(16) unsigned char shared[];
  aggregate_shared<C, 4>(p, Keys{}, row, shared);
}
template <class Keys, class A, class Partial>
__global__ void merge_kernel(group_rows rows, group_table<Keys, A> t, tiles_again again, Partial partial) {
  merge_groups(rows, t, again, Keys{}, partial);
}
template <class Keys, class A> __global__ void grow_kernel(group_table<Keys, A> from, group_table<Keys, A> to, u32* full) {
  grow_groups<Keys, A>(from, to, full, Keys{});
}
template <class Keys, class A, class Emit> __global__ void emit_kernel(group_table<Keys, A> t, u64* count, Emit emit) {
  emit_groups<Keys, A>(t, count, emit);
}
template <class Keys, class Row> __global__ void __launch_bounds__(512) count_kernel(u64 n, partition_places p, Row row) {
  extern __shared__ __align__(16) unsigned char shared[];
  count_partitions<4, row_args>(n, p, Keys{}, row, shared);
}
__global__ void plan_kernel(partition_places p) { plan_partitions(p); }
template <class Keys, class Row>
__global__ void __launch_bounds__(512) scatter_kernel(u64 n, partition_places p, typename Keys::key_type* keys, row_args* args, Row row) {
  extern __shared__ __align__(16) unsigned char shared[];
  scatter_partitions<4>(n, p, keys, args, Keys{}, row, shared);
}
template <class Keys, class A, class Emit>
__global__ void __launch_bounds__(1024, 1)
    partition_kernel(partition_group_params<Keys, A> p, scattered_rows<typename Keys::key_type, row_args> rows, Emit emit) {
  extern __shared__ __align__(16) unsigned char shared[];
  aggregate_partitions<4>(p, Keys{}, rows, emit, shared);
}

using reference = std::map<u32, statistics::State>;

reference expected(const std::vector<u32>& keys, const std::vector<double>& values, double least) {
  reference groups;
  for (u64 i = 0; i < keys.size(); ++i) {
    if (!(values[i] >= least)) continue;
    auto [at, fresh] = groups.try_emplace(keys[i], statistics::State{0, 0, std::numeric_limits<double>::infinity(), 0, 0});
    auto& s = at->second;
    s.sum += values[i];
    ++s.count;
    s.least = std::min(s.least, values[i]);
    s.most = std::max(s.most, static_cast<u32>(values[i]));
  }
  return groups;
}

// The host's part of a group-by: a table that grows, and the loops that run listed tiles again.
template <class Key, class A> class group_by {
 public:
  using keys = bitwise_keys<Key>;
  using table = group_table<keys, A>;
  using slot = typename table::slot;
  using partial = group_partial<Key, statistics::State>;

  group_by(const std::vector<u32>& k, const std::vector<double>& v, double least, u32 bits)
      : n_(k.size()),
        keys_(k),
        values_(v),
        row_{keys_.data(), values_.data(), least},
        slots_(table_slots(bits)),
        bits_(bits),
        tiles_(2 * k.size() + 4096),
        out_keys_(k.size() + 1),
        out_states_(k.size() + 1) {
    count_.fill(0);
    init(slots_, bits_);
    reset();
  }

  void global() {
    global_kernel<keys, A><<<17, 256>>>(group_rows{n_}, ref(), again(), row_);
    run_again([&](group_rows rows) { global_kernel<keys, A><<<17, 256>>>(rows, ref(), again(), row_); });
  }

  template <group_copies C> void shared(u64 groups) {
    const auto shape = plan_shared_groups(C, groups, sizeof(Key), sizeof(statistics::State), 160 * 1024);
    ASSERT_GT(shape.bytes, 0u);
    const u32 blocks = 13;
    device_array<partial> partials(u64(blocks) * shape.capacity);
    device_array<u32> counts(blocks);
    shared_group_params<keys, A> p{{n_}, shape, ref(), again(), partials.data(), counts.data()};
    auto* kernel = shared_kernel<C, keys, A, rows_in<Key>>;
    allow_shared(kernel, shape.bytes);
    kernel<<<blocks, shape.threads, shape.bytes>>>(p, row_);
    run_again([&](group_rows rows) { global_kernel<keys, A><<<17, 256>>>(rows, ref(), again(), row_); });
    const shared_partials<Key, statistics::State> source{partials.data(), counts.data(), shape.capacity};
    merge(u64(blocks) * shape.capacity, source);
  }

  // Counted first, or with room for as many rows as the largest partition is known to have.
  void partitioned(u32 bits, u64 groups_each, u64 chunk, bool known = false) {
    const auto shape = plan_shared_groups(group_copies::block, groups_each, sizeof(Key), sizeof(statistics::State), 160 * 1024);
    ASSERT_GT(shape.bytes, 0u);
    const u64 parts = u64(1) << bits;
    device_array<u64> counts(parts), starts(parts + 1), cursors(parts), items(parts + 1), partial_count(1);
    counts.fill(0);
    partial_count.fill(0);
    device_array<u64> crowded(1), largest(1);
    crowded.fill(0);
    largest.fill(0);
    partition_places places{bits,           group_partition_shift, chunk, counts.data(),  starts.data(), cursors.data(), items.data(), 0,
                            crowded.data(), largest.data()};
    count_kernel<keys><<<11, 512, 4u << bits>>>(n_, places, row_);
    plan_kernel<<<1, 1024>>>(places);
    finish();
    const auto rows_of = counts.host();
    ASSERT_EQ(largest.first(), *std::max_element(rows_of.begin(), rows_of.end()));
    known = known && largest.first() > 1;
    if (known) {
      places.room = largest.first();
      counts.fill(0);
    }
    device_array<Key> keys_out(larger(n_, places.room << bits));
    device_array<row_args> args_out(larger(n_, places.room << bits));
    const u32 bytes = scatter_bytes(bits, 512 * 4, sizeof(Key), sizeof(row_args));
    auto* scatter = scatter_kernel<keys, rows_in<Key>>;
    allow_shared(scatter, bytes);
    scatter<<<11, 512, bytes>>>(n_, places, keys_out.data(), args_out.data(), row_);
    if (known) plan_kernel<<<1, 1024>>>(places);
    finish();
    ASSERT_EQ(crowded.first(), 0u);
    ASSERT_EQ(counts.host(), rows_of);
    if (known) {
      // One row too little of it: nothing is left to aggregate.
      partition_places less = places;
      --less.room;
      plan_kernel<<<1, 1024>>>(less);
      finish();
      ASSERT_EQ(crowded.first(), 1u);
      ASSERT_EQ(items.host().back(), 0u);
      plan_kernel<<<1, 1024>>>(places);
      finish();
    }
    device_array<partial> partials(partition_partials(n_, bits, chunk, shape.capacity) + 1);
    const scattered_rows<Key, row_args> rows{keys_out.data(), args_out.data()};
    partition_group_params<keys, A> p{places, shape, ref(), again(), partials.data(), partial_count.data(), count_.data()};
    auto* kernel = partition_kernel<keys, A, groups_out<Key>>;
    allow_shared(kernel, shape.bytes);
    const u64 blocks = partition_items(n_, bits, chunk);
    ASSERT_LE(items.host().back(), blocks);
    kernel<<<static_cast<u32>(blocks), shape.threads, shape.bytes>>>(p, rows, out());
    run_again([&](group_rows g) { global_kernel<keys, A><<<17, 256>>>(g, ref(), again(), rows); });
    ASSERT_LE(partial_count.first(), partials.size());
    merge(partial_count.first(), plain_partials<Key, statistics::State>{partials.data()});
  }

  void expect(const reference& want) {
    emit_kernel<keys, A><<<9, 256>>>(ref(), count_.data(), out());
    finish();
    const u64 count = count_.first();
    ASSERT_EQ(count, want.size());
    const auto got_keys = out_keys_.host(count);
    const auto got = out_states_.host(count);
    std::map<u32, int> seen;
    for (u64 g = 0; g < count; ++g) {
      const u32 key = narrow(got_keys[g]);
      ASSERT_EQ(seen[key]++, 0) << "key twice: " << key;
      const auto at = want.find(key);
      ASSERT_NE(at, want.end()) << key;
      ASSERT_EQ(got[g].count, at->second.count) << key;
      ASSERT_NEAR(got[g].sum, at->second.sum, 1e-9 * std::abs(at->second.sum)) << key;
      ASSERT_EQ(got[g].least, at->second.least) << key;
      ASSERT_EQ(got[g].most, at->second.most) << key;
    }
  }

  int growths() const { return growths_; }

 private:
  table ref() const { return {slots_.data(), bits_}; }
  tiles_again again() const { return {tiles_.data(), tile_count_.data(), full_.data()}; }
  groups_out<Key> out() const { return {out_keys_.data(), out_states_.data()}; }
  void reset() {
    tile_count_.fill(0);
    full_.fill(0);
  }
  void init(device_array<slot>& slots, u32 bits) {
    init_kernel<keys, A><<<7, 256>>>(table{slots.data(), bits});
    finish();
  }

  template <class Launch> void run_again(const Launch& launch) {
    finish();
    while (full_.first() != 0) {
      ASSERT_LT(++growths_, 40);
      device_array<slot> larger(table_slots(bits_ + 2));
      init(larger, bits_ + 2);
      device_array<u32> full(1);
      full.fill(0);
      grow_kernel<keys, A><<<7, 256>>>(ref(), table{larger.data(), bits_ + 2}, full.data());
      finish();
      ASSERT_EQ(full.first(), 0u);
      slots_ = std::move(larger);
      bits_ += 2;
      const u64 count = tile_count_.first();
      device_array<u64> listed(tiles_.host(count));
      reset();
      launch(group_rows{n_, listed.data(), count});
      finish();
    }
  }
  template <class Source> void merge(u64 count, const Source& source) {
    merge_kernel<keys, A><<<5, 256>>>(group_rows{count}, ref(), again(), source);
    run_again([&](group_rows rows) { merge_kernel<keys, A><<<5, 256>>>(rows, ref(), again(), source); });
  }

  u64 n_;
  device_array<u32> keys_;
  device_array<double> values_;
  rows_in<Key> row_;
  device_array<slot> slots_;
  u32 bits_;
  device_array<u64> tiles_, tile_count_{1}, count_{1};
  device_array<u32> full_{1};
  device_array<Key> out_keys_;
  device_array<statistics::State> out_states_;
  int growths_ = 0;
};

std::vector<double> make_values(u64 n) {
  std::mt19937 random(11);
  std::vector<double> values(n);
  for (auto& v : values) v = static_cast<double>(random() % 1000) / 8 + 1;
  return values;
}

class GroupAggregate : public Gpu {};

// Runs one form over edge sizes and spreads.
template <class Key, class A, class Run> void over_inputs(u32 table_bits, const Run& run) {
  for (const u64 n : edge_sizes()) {
    const auto values = make_values(n);
    for (const spread s :
         {spread::all_equal, spread::all_distinct, spread::few, spread::uniform, spread::zipf, spread::heavy, spread::extremes}) {
      if (n > 10000 && s != spread::zipf && s != spread::extremes && s != spread::all_distinct) continue;
      const double least = n % 2 ? 0.0 : 20.0;
      const auto keys = make_keys(n, 1000, s);
      SCOPED_TRACE(std::string(name_of(s)) + " n=" + std::to_string(n));
      group_by<Key, A> query(keys, values, least, table_bits);
      run(query);
      query.expect(expected(keys, values, least));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST_F(GroupAggregate, global_table_takes_keys_of_4_bytes) {
  over_inputs<u32, statistics>(21, [](auto& q) { q.global(); });
}
TEST_F(GroupAggregate, global_table_takes_keys_of_8_bytes) {
  over_inputs<u64, statistics>(21, [](auto& q) { q.global(); });
}
TEST_F(GroupAggregate, global_table_takes_keys_of_16_bytes) {
  over_inputs<key_row, statistics>(21, [](auto& q) { q.global(); });
}
TEST_F(GroupAggregate, global_table_locks_states_without_atomic_form) {
  over_inputs<u64, locked_statistics>(21, [](auto& q) { q.global(); });
}
TEST_F(GroupAggregate, thread_copies_send_what_does_not_fit_to_the_table) {
  over_inputs<u32, statistics>(21, [](auto& q) { q.template shared<group_copies::thread>(8); });
}
TEST_F(GroupAggregate, warp_copies_take_a_thousand_groups) {
  over_inputs<u32, statistics>(12, [](auto& q) { q.template shared<group_copies::warp>(300); });
}
TEST_F(GroupAggregate, warp_copies_take_wide_keys_and_states_without_atomic_form) {
  over_inputs<key_row, locked_statistics>(12, [](auto& q) { q.template shared<group_copies::warp>(100); });
}
TEST_F(GroupAggregate, block_copies_take_a_thousand_groups) {
  over_inputs<u64, statistics>(12, [](auto& q) { q.template shared<group_copies::block>(500); });
}
TEST_F(GroupAggregate, partitions_write_their_groups_once) {
  over_inputs<u32, statistics>(12, [](auto& q) { q.partitioned(6, 200, 65536); });
}
TEST_F(GroupAggregate, partitions_larger_than_a_chunk_meet_in_the_table) {
  over_inputs<u64, statistics>(12, [](auto& q) { q.partitioned(2, 300, 100); });
}
TEST_F(GroupAggregate, partitions_overflow_into_the_table) {
  over_inputs<key_row, statistics>(6, [](auto& q) { q.partitioned(3, 8, 5000); });
}

TEST_F(GroupAggregate, partitions_of_known_size_need_no_count) {
  over_inputs<u32, statistics>(12, [](auto& q) { q.partitioned(6, 200, 65536, true); });
  over_inputs<u64, statistics>(12, [](auto& q) { q.partitioned(2, 300, 100, true); });
}

TEST_F(GroupAggregate, a_full_table_grows_and_counts_each_row_once) {
  const u64 n = (1u << 18) + 3;
  const auto keys = make_keys(n, 0, spread::all_distinct);
  const auto values = make_values(n);
  const auto want = expected(keys, values, 0);
  group_by<u32, statistics> small(keys, values, 0, 5);
  small.global();
  small.expect(want);
  EXPECT_GT(small.growths(), 2);
  group_by<u64, statistics> shared(keys, values, 0, 5);
  shared.shared<group_copies::block>(500);
  shared.expect(want);
  EXPECT_GT(shared.growths(), 2);
}

TEST(GroupPlan, has_no_room_to_spare_where_the_groups_are_known) {
  constexpr u32 budget = 227 * 1024;
  const u64 n = u64(1) << 27;
  for (u64 groups = 1; groups < 20000; groups += 1 + groups / 8) {
    for (const bool atomic : {false, true}) {
      const auto guessed = plan_groups(n, groups, 4, 8, atomic, budget), known = plan_groups(n, groups, 4, 8, atomic, budget, true);
      if (guessed.tier > group_tier::shared_block) continue;
      EXPECT_LE(known.tier, guessed.tier) << groups;
      EXPECT_GE(known.shape.capacity, groups);
      EXPECT_LT(known.shape.capacity, groups + 16);
      EXPECT_LE(known.shape.bytes, budget);
      EXPECT_EQ(known.shape.threads % 32, 0u);
    }
  }
}

TEST(GroupPlan, chooses_a_tier_by_groups) {
  constexpr u32 budget = 227 * 1024;
  const u64 n = u64(1) << 27;
  EXPECT_EQ(plan_groups(n, 16, 4, 8, true, budget).tier, group_tier::shared_thread);
  EXPECT_EQ(plan_groups(n, 200, 4, 8, true, budget).tier, group_tier::shared_warp);
  EXPECT_EQ(plan_groups(n, 1024, 4, 8, false, budget).tier, group_tier::shared_warp);
  EXPECT_EQ(plan_groups(n, 1024, 4, 8, true, budget).tier, group_tier::shared_block);
  EXPECT_EQ(plan_groups(n, 1u << 20, 4, 8, true, budget).tier, group_tier::partition);
  EXPECT_EQ(plan_groups(n, 1u << 24, 4, 8, true, budget).tier, group_tier::partition);
  EXPECT_EQ(plan_groups(n, 1u << 24, 4, 8, false, budget).tier, group_tier::global);
  // Fits with a smaller index only.
  EXPECT_EQ(plan_groups(n, 16535004, 4, 40, true, budget).tier, group_tier::partition);
  EXPECT_EQ(plan_groups(100000, 90000, 4, 8, true, budget).tier, group_tier::global);
  for (u64 groups = 1; groups < n; groups *= 3) {
    const auto plan = plan_groups(n, groups, 8, 16, true, budget);
    EXPECT_LE(plan.shape.bytes, budget);
    EXPECT_LE(plan.shape.threads, 1024u);
    EXPECT_EQ(plan.shape.threads % 32, 0u);
    if (plan.scatter_items) {
      EXPECT_LE(scatter_bytes(plan.partition_bits, 1024 * plan.scatter_items, 8, 8), budget) << groups;
    }
  }
}

}  // namespace
