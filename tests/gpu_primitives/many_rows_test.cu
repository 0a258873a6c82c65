// Hashed primitives beyond 2^31 rows: groups in every tier, a join's probe side, a join's output. What they must give is known by formula.
#include <algorithm>

#include "gpu_primitives/atomics.cuh"
#include "gpu_primitives/group_aggregate.cuh"
#include "gpu_primitives/hash_join.cuh"
#include "hashing_fixture.cuh"

using namespace query::gpu;
using namespace hashing_test;

namespace {

constexpr u64 many = (u64(1) << 31) + 12345;

class ManyRows : public Gpu {};

struct row_args {
  u32 row;
};
struct counted {
  struct State {
    u64 rows, count;
  };
  using Args = row_args;
  static __device__ void init(State& s) { s = State{0, 0}; }
  static __device__ void update(State& s, const Args& a) {
    s.rows += a.row;
    ++s.count;
  }
  static __device__ void merge(State& s, const State& o) {
    s.rows += o.rows;
    s.count += o.count;
  }
  static __device__ void update_atomic(State& s, const Args& a) {
    atomic_add(&s.rows, u64(a.row));
    atomic_add(&s.count, u64(1));
  }
  static __device__ void merge_atomic(State& s, const State& o) {
    atomic_add(&s.rows, o.rows);
    atomic_add(&s.count, o.count);
  }
};

using keys = bitwise_keys<u32>;
using table = group_table<keys, counted>;

// Key i % groups, from memory where there is a column.
struct rows_in {
  const u8* column;
  u32 groups;
  __device__ bool operator()(u64 i, u32& key, row_args& a) const {
    key = column ? column[i] : static_cast<u32>(i % groups);
    a.row = static_cast<u32>(i);
    return true;
  }
};
struct groups_out {
  u32* k;
  counted::State* s;
  __device__ void operator()(u64 at, u32 key, const counted::State& state) const {
    k[at] = key;
    s[at] = state;
  }
};

__global__ void column_kernel(u8* column, u64 n, u32 period) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) column[i] = static_cast<u8>(i % period);
}
__global__ void init_kernel(table t) { init_groups<keys, counted>(t); }
__global__ void __launch_bounds__(256) global_kernel(group_rows rows, table t, tiles_again again, rows_in row) {
  aggregate_global<4>(rows, t, again, keys{}, row);
}
template <group_copies C> __global__ void __launch_bounds__(1024, 1) shared_kernel(shared_group_params<keys, counted> p, rows_in row) {
  extern __shared__ __align__(16) unsigned char shared[];
  aggregate_shared<C, 4>(p, keys{}, row, shared);
}
template <class Partial> __global__ void merge_kernel(group_rows rows, table t, tiles_again again, Partial partial) {
  merge_groups(rows, t, again, keys{}, partial);
}
__global__ void emit_kernel(table t, u64* count, groups_out emit) { emit_groups<keys, counted>(t, count, emit); }
__global__ void __launch_bounds__(512, 2) count_kernel(u64 n, partition_places p, rows_in row) {
  extern __shared__ __align__(16) unsigned char shared[];
  count_partitions<8, row_args>(n, p, keys{}, row, shared);
}
__global__ void plan_kernel(partition_places p) { plan_partitions(p); }
__global__ void __launch_bounds__(1024, 1) scatter_kernel(u64 n, partition_places p, u32* k, row_args* a, rows_in row) {
  extern __shared__ __align__(16) unsigned char shared[];
  scatter_partitions<8>(n, p, k, a, keys{}, row, shared);
}
__global__ void __launch_bounds__(1024, 1)
    partition_kernel(partition_group_params<keys, counted> p, scattered_rows<u32, row_args> rows, groups_out emit) {
  extern __shared__ __align__(16) unsigned char shared[];
  aggregate_partitions<4>(p, keys{}, rows, emit, shared);
}

u32 shared_budget() {
  int bytes = 0;
  HASHING_CUDA(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  return static_cast<u32>(bytes) - 1024;
}

// What a group-by needs around its kernels, and what the groups must be.
struct group_by {
  u32 groups;
  u32 bits;
  device_array<table::slot> slots;
  device_array<u64> tiles{many / 128 + 65536}, tile_count{1}, count{1};
  device_array<u32> full{1}, ok;
  device_array<counted::State> os;

  group_by(u32 g, u32 table) : groups(g), bits(table), slots(table_slots(table)), ok(g + 4096), os(g + 4096) {
    tile_count.fill(0);
    count.fill(0);
    full.fill(0);
    init_kernel<<<132, 256>>>(ref());
    finish();
  }
  table ref() const { return {slots.data(), bits}; }
  tiles_again again() const { return {tiles.data(), tile_count.data(), full.data()}; }
  groups_out out() const { return {ok.data(), os.data()}; }

  void expect() {
    emit_kernel<<<132, 256>>>(ref(), count.data(), out());
    finish();
    ASSERT_EQ(full.first(), 0u);
    ASSERT_EQ(count.first(), groups);
    const auto got_keys = ok.host(groups);
    const auto got = os.host(groups);
    std::vector<u8> seen(groups);
    for (u32 g = 0; g < groups; ++g) {
      const u64 key = got_keys[g];
      ASSERT_LT(key, groups);
      ASSERT_EQ(seen[key]++, 0) << "key twice: " << key;
      const u64 rows = many / groups + (key < many % groups);
      ASSERT_EQ(got[g].count, rows) << "key " << key;
      ASSERT_EQ(got[g].rows, key * rows + groups * (rows * (rows - 1) / 2)) << "key " << key;
    }
  }
};

template <group_copies C> void check_shared() {
  constexpr u32 groups = 251;
  const device_array<u8> column(many);
  column_kernel<<<2048, 256>>>(column.data(), many, groups);
  finish();
  const auto shape = plan_shared_groups(C, groups, 4, sizeof(counted::State), shared_budget());
  ASSERT_GT(shape.bytes, 0u);
  group_by q(groups, table_bits(2 * groups));
  const u32 blocks = 132;
  const device_array<group_partial<u32, counted::State>> partials(u64(blocks) * shape.capacity);
  const device_array<u32> counts(blocks);
  allow_shared(shared_kernel<C>, shape.bytes);
  shared_kernel<C><<<blocks, shape.threads, shape.bytes>>>({{many}, shape, q.ref(), q.again(), partials.data(), counts.data()},
                                                           rows_in{column.data(), groups});
  finish();
  const shared_partials<u32, counted::State> source{partials.data(), counts.data(), shape.capacity};
  merge_kernel<<<132, 256>>>(group_rows{u64(blocks) * shape.capacity}, q.ref(), q.again(), source);
  q.expect();
}

TEST_F(ManyRows, are_grouped_by_copies_of_warps) {
  NEEDS_GIGABYTES(4);
  check_shared<group_copies::warp>();
}
TEST_F(ManyRows, are_grouped_by_copies_of_blocks) {
  NEEDS_GIGABYTES(4);
  check_shared<group_copies::block>();
}
TEST_F(ManyRows, are_grouped_in_the_global_table) {
  NEEDS_GIGABYTES(2);
  constexpr u32 groups = 1000003;
  group_by q(groups, table_bits(groups));
  global_kernel<<<132 * 8, 256>>>(group_rows{many}, q.ref(), q.again(), rows_in{nullptr, groups});
  q.expect();
}
TEST_F(ManyRows, are_grouped_in_partitions) {
  NEEDS_GIGABYTES(20);
  constexpr u32 groups = 1000003;
  const u32 bits = partition_bits_for(groups, 4, sizeof(counted::State), shared_budget());
  const auto shape = plan_shared_groups(group_copies::block, divide_up(groups, u64(1) << bits), 4, sizeof(counted::State), shared_budget());
  ASSERT_GT(shape.bytes, 0u);
  group_by q(groups, 16);
  const u64 parts = u64(1) << bits, chunk = partition_chunk(many, bits);
  const device_array<u64> items(parts + 1), starts(parts + 1), cursors(parts);
  device_array<u64> counts(parts), partial_count(1);
  counts.fill(0);
  partial_count.fill(0);
  const partition_places places{bits, group_partition_shift, chunk, counts.data(), starts.data(), cursors.data(), items.data()};
  const device_array<u32> k(many);
  const device_array<row_args> a(many);
  const device_array<group_partial<u32, counted::State>> partials(partition_partials(many, bits, chunk, shape.capacity) + 1);
  const rows_in row{nullptr, groups};
  count_kernel<<<132 * 4, 512, 4u << bits>>>(many, places, row);
  plan_kernel<<<1, 1024>>>(places);
  const u32 bytes = scatter_bytes(bits, 1024 * 8, 4, 4);
  allow_shared(scatter_kernel, bytes);
  scatter_kernel<<<132, 1024, bytes>>>(many, places, k.data(), a.data(), row);
  finish();
  ASSERT_EQ(starts.host().back(), many);
  const u64 blocks = partition_items(many, bits, chunk);
  ASSERT_LE(items.host().back(), blocks);
  allow_shared(partition_kernel, shape.bytes);
  partition_kernel<<<static_cast<u32>(blocks), shape.threads, shape.bytes>>>(
      {places, shape, q.ref(), q.again(), partials.data(), partial_count.data(), q.count.data()},
      scattered_rows<u32, row_args>{k.data(), a.data()}, q.out());
  finish();
  ASSERT_LE(partial_count.first(), partials.size());
  merge_kernel<<<132, 256>>>(group_rows{partial_count.first()}, q.ref(), q.again(), plain_partials<u32, counted::State>{partials.data()});
  q.expect();
}

// Of every 251 probe rows the last has no partner.
constexpr u32 period = 251, build_keys_of_period = 250;

struct build_row {
  __device__ bool operator()(u64 i, u32& key, u32& payload) const {
    key = static_cast<u32>(i);
    payload = static_cast<u32>(i) * 3 + 1;
    return true;
  }
};
struct no_args {};
struct probe_row {
  const u8* column;
  __device__ bool operator()(u64 i, u32& key, no_args&) const {
    key = column[i];
    return true;
  }
};
struct numbers_out {
  u32* rows;
  u64* wrong;
  __device__ void operator()(u64 at, u64 row, u32 key, const no_args&, bool matched, u32 payload) const {
    rows[at] = static_cast<u32>(row);
    if (!matched || payload != key * 3 + 1 || key != row % period) atomicAdd(wrong, 1ull);
  }
};
using join_table = hash_table_ref<keys, u32>;

__global__ void build_kernel(join_table t, u32* repeated) {
  build_unique<2>(build_keys_of_period, t, repeated, keys{}, build_row{});
}
__global__ void __launch_bounds__(256) probe_kernel(join_table t, ordered_append append, probe_row row, numbers_out out) {
  probe_unique<join_kind::inner, 4, no_args>(many, t, append, nullptr, keys{}, row, out);
}
__global__ void __launch_bounds__(512, 2) pipelined_kernel(join_table t, ordered_append append, probe_row row, numbers_out out) {
  probe_unique_pipelined<join_kind::inner, 512, 2, no_args>(many, t, append, nullptr, keys{}, row, out);
}
__global__ void disorder_kernel(const u32* rows, u64 n, u64* wrong) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    if (rows[i] != i + i / build_keys_of_period) atomicAdd(wrong, 1ull);
  }
}

TEST_F(ManyRows, probe_a_join_in_their_order) {
  NEEDS_GIGABYTES(12);
  const device_array<u8> column(many);
  column_kernel<<<2048, 256>>>(column.data(), many, period);
  const u32 bits = join_table_bits(build_keys_of_period);
  device_array<join_table::slot> slots(table_slots(bits));
  slots.fill(0xff);
  const join_table t{slots.data(), bits};
  device_array<u32> repeated(1);
  repeated.fill(0);
  build_kernel<<<1, 256>>>(t, repeated.data());
  finish();
  ASSERT_EQ(repeated.first(), 0u);
  const u64 kept = many / period * build_keys_of_period + std::min<u64>(many % period, build_keys_of_period);
  device_array<u64> ticket(1), total(1), wrong(1), states(append_states(divide_up(many, 1024)));
  device_array<u32> rows(kept);
  for (const bool pipelined : {false, true}) {
    ticket.fill(0);
    states.fill(0);
    total.fill(0);
    wrong.fill(0);
    rows.fill(0xa5);
    const ordered_append append{ticket.data(), states.data(), total.data()};
    if (pipelined) {
      pipelined_kernel<<<132 * 2, 512>>>(t, append, probe_row{column.data()}, numbers_out{rows.data(), wrong.data()});
    } else {
      probe_kernel<<<static_cast<u32>(probe_tiles(many, 256, 4)), 256>>>(t, append, probe_row{column.data()},
                                                                         numbers_out{rows.data(), wrong.data()});
    }
    finish();
    ASSERT_EQ(total.first(), kept) << (pipelined ? "pipelined" : "one tile a block");
    disorder_kernel<<<2048, 256>>>(rows.data(), kept, wrong.data());
    finish();
    EXPECT_EQ(wrong.first(), 0u) << (pipelined ? "pipelined" : "one tile a block");
  }
}

constexpr u64 each_side = 50000;

// Bytes that become 1 where the right pair came.
struct pairs_seen {
  u8* seen;
  __device__ void operator()(u64 at, u64 probe, u64 build) const { seen[at] = at == probe * each_side + build ? 1 : 0; }
};
__global__ void __launch_bounds__(match_threads) match_kernel(match_source s, u64* entries, u64* outputs) {
  count_matches<join_kind::inner>(s, entries, outputs);
}
__global__ void scan_kernel(u64 n, u64* values) { scan_blocks(n, values); }
__global__ void __launch_bounds__(match_threads) list_kernel(match_source s, const u64* entries, const u64* outputs, match_entry* list) {
  list_matches<join_kind::inner>(s, entries, outputs, list);
}
__global__ void __launch_bounds__(expand_threads)
    expand_kernel(u64 outputs, const match_entry* list, u64 entries, const u32* rows, pairs_seen out) {
  expand_matches(outputs, list, entries, rows, out);
}
__global__ void missing_kernel(const u8* seen, u64 n, u64* wrong) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    if (seen[i] != 1) atomicAdd(wrong, 1ull);
  }
}

TEST_F(ManyRows, come_out_of_a_join_with_repeated_keys) {
  NEEDS_GIGABYTES(3);
  constexpr u64 outputs = each_side * each_side;
  static_assert(outputs > u64(1) << 31);
  device_array<u32> groups(each_side);
  groups.fill(0);  // all rows of both sides have one key
  std::vector<u32> numbers(each_side);
  for (u32 i = 0; i < each_side; ++i) numbers[i] = i;
  const device_array<u32> rows(numbers);
  const device_array<u64> offsets(std::vector<u64>{0, each_side});
  const u64 blocks = match_blocks(each_side);
  const device_array<u64> entries(blocks + 1), starts(blocks + 1);
  const match_source source{each_side, groups.data(), nullptr, offsets.data()};
  match_kernel<<<static_cast<u32>(blocks), match_threads>>>(source, entries.data(), starts.data());
  scan_kernel<<<1, 1024>>>(blocks, entries.data());
  scan_kernel<<<1, 1024>>>(blocks, starts.data());
  finish();
  ASSERT_EQ(entries.host().back(), each_side);
  ASSERT_EQ(starts.host().back(), outputs);
  const device_array<match_entry> list(each_side);
  list_kernel<<<static_cast<u32>(blocks), match_threads>>>(source, entries.data(), starts.data(), list.data());
  const device_array<u8> seen(outputs);
  device_array<u64> wrong(1);
  wrong.fill(0);
  expand_kernel<<<static_cast<u32>(expand_blocks(outputs)), expand_threads>>>(outputs, list.data(), each_side, rows.data(),
                                                                              pairs_seen{seen.data()});
  missing_kernel<<<2048, 256>>>(seen.data(), outputs, wrong.data());
  finish();
  EXPECT_EQ(wrong.first(), 0u);
}

}  // namespace
