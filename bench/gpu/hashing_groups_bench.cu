// Fused group-by, u32 key and f64 value, beside plain baselines in the same run: CUB's sort and reduce-by-key, an atomics table.
//   hashing_groups_bench [log2 of rows = 27] [part of names]
// Build: nvcc -std=c++20 -O3 -arch=sm_90 --extended-lambda -Isrc -Ibench/gpu bench/gpu/hashing_groups_bench.cu
#include <cstring>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>

#include "gpu_primitives/atomics.cuh"
#include "gpu_primitives/group_aggregate.cuh"
#include "hashing_timing.cuh"

using namespace query::gpu;
using namespace hashing_bench;

namespace {

struct value_args {
  double v;
};
struct sum_only {
  struct State {
    double sum;
  };
  using Args = value_args;
  static __device__ void init(State& s) { s.sum = 0; }
  static __device__ void update(State& s, const Args& a) { s.sum += a.v; }
  static __device__ void merge(State& s, const State& o) { s.sum += o.sum; }
  static __device__ void update_atomic(State& s, const Args& a) { atomic_add(&s.sum, a.v); }
  static __device__ void merge_atomic(State& s, const State& o) { atomic_add(&s.sum, o.sum); }
};
struct sum_count {
  struct State {
    double sum;
    u64 count;
  };
  using Args = value_args;
  static __device__ void init(State& s) { s = State{0, 0}; }
  static __device__ void update(State& s, const Args& a) {
    s.sum += a.v;
    ++s.count;
  }
  static __device__ void merge(State& s, const State& o) {
    s.sum += o.sum;
    s.count += o.count;
  }
  static __device__ void update_atomic(State& s, const Args& a) {
    atomic_add(&s.sum, a.v);
    atomic_add(&s.count, u64(1));
  }
  static __device__ void merge_atomic(State& s, const State& o) {
    atomic_add(&s.sum, o.sum);
    atomic_add(&s.count, o.count);
  }
};

using keys = bitwise_keys<u32>;
struct rows_in {
  const u32* k;
  const double* v;
  __device__ __forceinline__ bool operator()(u64 i, u32& key, value_args& a) const {
    key = __ldcs(k + i);
    a.v = __ldcs(v + i);
    return true;
  }
};
template <class A> struct groups_out {
  u32* k;
  typename A::State* s;
  __device__ __forceinline__ void operator()(u64 at, u32 key, const typename A::State& state) const {
    k[at] = key;
    s[at] = state;
  }
};

template <class A> __global__ void init_kernel(group_table<keys, A> t) { init_groups<keys, A>(t); }
template <int Items, class A>
__global__ void __launch_bounds__(256) global_kernel(group_rows rows, group_table<keys, A> t, tiles_again again, rows_in row) {
  aggregate_global<Items>(rows, t, again, keys{}, row);
}
template <group_copies C, int Items, class A>
__global__ void __launch_bounds__(1024, 1) shared_kernel(shared_group_params<keys, A> p, rows_in row) {
  extern __shared__ __align__(16) unsigned char shared[];
  aggregate_shared<C, Items>(p, keys{}, row, shared);
}
template <class A, class Partial>
__global__ void merge_kernel(group_rows rows, group_table<keys, A> t, tiles_again again, Partial partial) {
  merge_groups(rows, t, again, keys{}, partial);
}
template <class A> __global__ void emit_kernel(group_table<keys, A> t, u64* count, groups_out<A> emit) {
  emit_groups<keys, A>(t, count, emit);
}
__global__ void __launch_bounds__(512, 2) count_kernel(u64 n, partition_places p, rows_in row) {
  extern __shared__ __align__(16) unsigned char shared[];
  count_partitions<8, value_args>(n, p, keys{}, row, shared);
}
__global__ void plan_kernel(partition_places p) { plan_partitions(p); }
template <int Threads, int Items>
__global__ void __launch_bounds__(Threads, 1024 / Threads) scatter_kernel(u64 n, partition_places p, u32* k, value_args* a, rows_in row) {
  extern __shared__ __align__(16) unsigned char shared[];
  scatter_partitions<Items>(n, p, k, a, keys{}, row, shared);
}
template <int Items, class A>
__global__ void __launch_bounds__(1024, 1)
    partition_kernel(partition_group_params<keys, A> p, scattered_rows<u32, value_args> rows, groups_out<A> emit) {
  extern __shared__ __align__(16) unsigned char shared[];
  aggregate_partitions<Items>(p, keys{}, rows, emit, shared);
}

// The plain way, for comparison: one table in global memory, one atomic a field and row.
__global__ void plain_kernel(const u32* k, const double* v, u64 n, u32* slots, double* sums, u32 bits) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    const u32 key = k[i];
    u32 at = key * 0x9e3779b1u >> (32 - bits);
    while (true) {
      const u32 seen = atomicCAS(slots + at, ~0u, key);
      if (seen == ~0u || seen == key) break;
      at = (at + 1) & ((1u << bits) - 1);
    }
    atomicAdd(sums + at, v[i]);
  }
}

template <class Kernel> void allow(Kernel* kernel, u32 bytes) {
  BENCH_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
}
template <class Kernel> u32 resident(Kernel* kernel, u32 threads, u32 bytes) {
  int blocks = 0, sms = 0;
  BENCH_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads), bytes));
  BENCH_CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  if (blocks == 0) std::printf("  (%u threads, %u bytes do not fit)\n", threads, bytes);
  return static_cast<u32>(std::max(1, blocks) * sms);
}

constexpr u32 budget = 226 * 1024;
u64 n = u64(1) << 27;
const char* wanted = "";

struct input {
  array<u32> k{n};
  array<double> v{n};
  array<double> check{2};
  u64 groups = 0;
  double weighted = 0;

  template <class KeyOf> input(u64 most, const KeyOf& key_of) { fill(most, key_of); }
  template <class KeyOf> void fill(u64 most, const KeyOf& key_of) {
    u32* kk = k.data();
    double* vv = v.data();
    each(n, [=] __device__(u64 i) {
      kk[i] = key_of(i);
      vv[i] = static_cast<double>(random_at(i, 5) >> 50);
    });
    array<u8> seen(most);
    seen.set(0);
    u8* ss = seen.data();
    double* c = check.data();
    check.set(0);
    array<u64> count(1);
    count.set(0);
    u64* cc = count.data();
    each(n, [=] __device__(u64 i) { ss[kk[i]] = 1; });
    each_kernel<<<132 * 8, 256>>>(u64(132) * 8 * 256, [=, rows = n] __device__(u64 t) {
      double sum = 0;
      for (u64 i = t; i < rows; i += 132 * 8 * 256) sum += vv[i] * (kk[i] % 1021 + 1);
      atomicAdd(c, sum);
      u64 mine = 0;
      for (u64 i = t; i < most; i += 132 * 8 * 256) mine += ss[i];
      if (mine) atomicAdd(cc, mine);
    });
    groups = count.first();
    weighted = check.first();
  }

  template <class State> bool right(const u32* ok, const State* os, u64 count) {
    if (count != groups) {
      std::printf("  groups %llu, not %llu\n", count, groups);
      return false;
    }
    check.set(0);
    double* c = check.data();
    each(count, [=] __device__(u64 i) { atomicAdd(c, os[i].sum * (ok[i] % 1021 + 1)); });
    const double got = check.first();
    if (got != weighted) std::printf("  sums %.17g, not %.17g\n", got, weighted);  // whole numbers: exact
    return got == weighted;
  }
};

// Everything a group-by of ours needs around its kernels.
template <class A> struct query_state {
  input& in;
  array<typename group_table<keys, A>::slot> slots;
  u32 bits;
  array<u64> tiles{n / 32 + 4096}, tile_count{1}, count{1};
  array<u32> full{1};
  array<u32> ok;
  array<typename A::State> os;

  query_state(input& from, u32 table) : in(from), slots(table_slots(table)), bits(table), ok(from.groups + 4096), os(from.groups + 4096) {}
  group_table<keys, A> table() const { return {slots.data(), bits}; }
  tiles_again again() const { return {tiles.data(), tile_count.data(), full.data()}; }
  rows_in rows() const { return {in.k.data(), in.v.data()}; }
  groups_out<A> out() const { return {ok.data(), os.data()}; }
  void begin() const {
    tile_count.set(0);
    full.set(0);
    count.set(0);
    init_kernel<A><<<132 * 8, 256>>>(table());
  }
  void end() const {
    emit_kernel<A><<<static_cast<u32>(std::min<u64>(132 * 8, divide_up(slots.size(), 2048))), 256>>>(table(), count.data(), out());
  }
  void finish(const std::string& name, float ms, double peer) {
    const bool ok_now = full.first() == 0 && in.right(ok.data(), os.data(), count.first());
    report(name, n, 12.0 * static_cast<double>(n) + static_cast<double>(in.groups * (4 + sizeof(typename A::State))), ms, ok_now, peer);
  }
};

template <group_copies C, int Items, class A>
void bench_shared(const std::string& name, input& in, u64 expected_groups, double peer, u32 most_threads = 1024) {
  if (!std::strstr(name.c_str(), wanted)) return;
  auto shape = plan_shared_groups(C, expected_groups, 4, sizeof(typename A::State), budget);
  if (shape.threads > most_threads) {
    shape.threads = most_threads;
    shape.bytes = shared_group_bytes(C, shape.threads, shape.capacity, shape.word_bits, 4, sizeof(typename A::State));
  }
  if (!shape.bytes) {
    std::printf("%-44s does not fit\n", name.c_str());
    return;
  }
  query_state<A> q(in, table_bits(2 * in.groups));
  auto* kernel = shared_kernel<C, Items, A>;
  allow(kernel, shape.bytes);
  const u32 blocks = resident(kernel, shape.threads, shape.bytes);
  array<group_partial<u32, typename A::State>> partials(u64(blocks) * shape.capacity);
  array<u32> counts(blocks);
  const float ms = median_ms([&] {
    q.begin();
    kernel<<<blocks, shape.threads, shape.bytes>>>({{n}, shape, q.table(), q.again(), partials.data(), counts.data()}, q.rows());
    const shared_partials<u32, typename A::State> source{partials.data(), counts.data(), shape.capacity};
    merge_kernel<A><<<132 * 4, 256>>>(group_rows{u64(blocks) * shape.capacity}, q.table(), q.again(), source);
    q.end();
  });
  q.finish(name + " t" + std::to_string(shape.threads) + " b" + std::to_string(blocks), ms, peer);
}

template <int Items, class A> void bench_global(const std::string& name, input& in, double peer) {
  if (!std::strstr(name.c_str(), wanted)) return;
  query_state<A> q(in, table_bits(in.groups));
  const float ms = median_ms([&] {
    q.begin();
    global_kernel<Items, A><<<132 * 8, 256>>>(group_rows{n}, q.table(), q.again(), q.rows());
    q.end();
  });
  q.finish(name, ms, peer);
}

template <int Threads, int ScatterItems, int Items, class A>
void bench_partition(const std::string& name, input& in, u32 bits, double peer, bool phases = false) {
  if (!std::strstr(name.c_str(), wanted)) return;
  const auto shape = plan_shared_groups(group_copies::block, divide_up(in.groups, u64(1) << bits), 4, sizeof(typename A::State), budget);
  if (!shape.bytes) {
    std::printf("%-44s does not fit\n", name.c_str());
    return;
  }
  query_state<A> q(in, 16);
  const u64 parts = u64(1) << bits, chunk = partition_chunk(n, bits);
  array<u64> counts(parts), starts(parts + 1), cursors(parts), items(parts + 1), partial_count(1);
  array<group_partial<u32, typename A::State>> partials(partition_partials(n, bits, chunk, shape.capacity) + 1);
  array<u32> k(n);
  array<value_args> a(n);
  const partition_places places{bits, group_partition_shift, chunk, counts.data(), starts.data(), cursors.data(), items.data()};
  auto* scatter = scatter_kernel<Threads, ScatterItems>;
  const u32 bytes = scatter_bytes(bits, Threads * ScatterItems, 4, 8);
  allow(scatter, bytes);
  auto* kernel = partition_kernel<Items, A>;
  allow(kernel, shape.bytes);
  const u32 scatter_blocks = resident(scatter, Threads, bytes);
  const auto count_part = [&] {
    counts.set(0);
    count_kernel<<<132 * 4, 512, 4u << bits>>>(n, places, q.rows());
    plan_kernel<<<1, 1024>>>(places);
  };
  const auto scatter_part = [&] { scatter<<<scatter_blocks, Threads, bytes>>>(n, places, k.data(), a.data(), q.rows()); };
  const auto aggregate_part = [&] {
    q.begin();
    partial_count.set(0);
    kernel<<<static_cast<u32>(partition_items(n, bits, chunk)), shape.threads, shape.bytes>>>(
        {places, shape, q.table(), q.again(), partials.data(), partial_count.data(), q.count.data()},
        scattered_rows<u32, value_args>{k.data(), a.data()}, q.out());
    group_rows rows{0};
    rows.n_at = partial_count.data();
    merge_kernel<A><<<132, 256>>>(rows, q.table(), q.again(), plain_partials<u32, typename A::State>{partials.data()});
    q.end();
  };
  const float ms = median_ms([&] {
    count_part();
    scatter_part();
    aggregate_part();
  });
  q.finish(name + " t" + std::to_string(shape.threads) + " c" + std::to_string(shape.capacity), ms, peer);
  if (phases) {
    const float first = median_ms(count_part);
    count_part();
    // Each run moves the cursors on: keep them where they were.
    const float second = median_ms([&] {
      BENCH_CUDA(cudaMemcpyAsync(cursors.data(), starts.data(), parts * 8, cudaMemcpyDeviceToDevice));
      scatter_part();
    });
    const float third = median_ms(aggregate_part);
    std::printf("    count %.3f, scatter %.3f (%u blocks), aggregate %.3f ms\n", static_cast<double>(first), static_cast<double>(second),
                scatter_blocks, static_cast<double>(third));
  }
}

struct pair_sum {
  __device__ sum_count::State operator()(const sum_count::State& a, const sum_count::State& b) const {
    return {a.sum + b.sum, a.count + b.count};
  }
};

// CUB: radix sort of pairs over the bits that the keys have, then reduce-by-key.
template <class A> double bench_cub(const std::string& name, input& in, int key_bits) {
  using state = typename A::State;
  array<u32> ks(n), uk(in.groups + 1);
  array<double> vs(n);
  array<state> states(sizeof(state) == 16 ? n : 1), out(in.groups + 1);
  array<int> runs(1);
  size_t sort_bytes = 0, reduce_bytes = 0;
  BENCH_CUDA(cub::DeviceRadixSort::SortPairs(nullptr, sort_bytes, in.k.data(), ks.data(), in.v.data(), vs.data(), static_cast<int>(n), 0,
                                             key_bits));
  const auto reduce = [&](void* room, size_t& bytes) {
    if constexpr (sizeof(state) == 16) {
      return cub::DeviceReduce::ReduceByKey(room, bytes, ks.data(), uk.data(), states.data(), out.data(), runs.data(), pair_sum{},
                                            static_cast<int>(n));
    } else {
      return cub::DeviceReduce::ReduceByKey(room, bytes, ks.data(), uk.data(), vs.data(), reinterpret_cast<double*>(out.data()),
                                            runs.data(), cuda::std::plus<>{}, static_cast<int>(n));
    }
  };
  BENCH_CUDA(reduce(nullptr, reduce_bytes));
  array<char> room(std::max(sort_bytes, reduce_bytes));
  const float ms = median_ms([&] {
    BENCH_CUDA(cub::DeviceRadixSort::SortPairs(room.data(), sort_bytes, in.k.data(), ks.data(), in.v.data(), vs.data(), static_cast<int>(n),
                                               0, key_bits));
    if constexpr (sizeof(state) == 16) {
      const double* v = vs.data();
      state* s = states.data();
      each(n, [=] __device__(u64 i) { s[i] = state{v[i], 1}; });
    }
    BENCH_CUDA(reduce(room.data(), reduce_bytes));
  });
  return report(name, n, 12.0 * static_cast<double>(n), ms, static_cast<u64>(runs.first()) == in.groups);
}

void bench_plain(const std::string& name, input& in) {
  const u32 bits = table_bits(in.groups);
  array<u32> slots(u64(1) << bits);
  array<double> sums(u64(1) << bits);
  const float ms = median_ms([&] {
    slots.set(0xff);
    sums.set(0);
    plain_kernel<<<132 * 8, 256>>>(in.k.data(), in.v.data(), n, slots.data(), sums.data(), bits);
  });
  report(name, n, 12.0 * static_cast<double>(n), ms, true);
}

constexpr auto thread = group_copies::thread;
constexpr auto warp = group_copies::warp;
constexpr auto block = group_copies::block;

void few(u64 groups, const char* tag) {
  input in(groups, [=] __device__(u64 i) { return static_cast<u32>(random_at(i, 3) % groups); });
  const std::string t = std::string("_") + tag;
  const double peer = bench_cub<sum_only>("cub_sort_reduce" + t, in, 10),
               peer2 = bench_cub<sum_count>("cub_sort_reduce_sumcount" + t, in, 10);
  if (groups == 16) {
    bench_shared<thread, 4, sum_only>("thread4_sum" + t, in, groups, peer);
    bench_shared<thread, 4, sum_count>("thread4_sumcount" + t, in, groups, peer2);
  } else {
    bench_plain("plain_atomics" + t, in);
  }
  bench_shared<warp, 4, sum_only>("warp4_sum" + t, in, groups, peer);
  bench_shared<warp, 4, sum_count>("warp4_sumcount" + t, in, groups, peer2);
  bench_shared<block, 4, sum_only>("block4_sum" + t, in, groups, peer);
  bench_shared<block, 4, sum_count>("block4_sumcount" + t, in, groups, peer2);
}

template <class KeyOf> void many(u64 groups, const char* tag, int key_bits, u32 bits, const KeyOf& key_of) {
  input in(groups, key_of);
  const std::string t = std::string("_") + tag;
  const double peer = bench_cub<sum_only>("cub_sort_reduce" + t, in, key_bits),
               peer2 = bench_cub<sum_count>("cub_sort_reduce_sumcount" + t, in, key_bits);
  if (groups < 10000000) {
    bench_partition<1024, 8, 4, sum_only>("part_1024x8_sum" + t, in, bits, peer, true);
    bench_partition<1024, 8, 4, sum_count>("part_1024x8_sumcount" + t, in, bits, peer2, true);
  } else {
    bench_partition<1024, 16, 4, sum_only>("part_1024x16_sum" + t, in, bits, peer, true);
    bench_partition<1024, 16, 2, sum_count>("part_1024x16_2_sumcount" + t, in, bits, peer2, true);
    bench_partition<1024, 16, 4, sum_count>("part_1024x16_sumcount" + t, in, bits, peer2, true);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) n = u64(1) << std::atoi(argv[1]);
  if (argc > 2) wanted = argv[2];
  report_copy();
  few(16, "16");
  few(1000, "1k");
  {
    // One key in half of the rows.
    input in(1000, [] __device__(u64 i) { return static_cast<u32>(random_at(i, 3) & 1 ? 7 : random_at(i, 4) % 1000); });
    bench_shared<warp, 4, sum_only>("warp4_sum_half_1k", in, 1000, 0);
    bench_shared<block, 4, sum_only>("block4_sum_half_1k", in, 1000, 0);
  }
  const u64 million = u64(1) << 20;
  many(million, "1M", 20, 9, [=] __device__(u64 i) { return static_cast<u32>(random_at(i, 3) % million); });
  {
    input in(million, [=] __device__(u64 i) { return static_cast<u32>(random_at(i, 3) % million); });
    bench_global<4, sum_only>("global4_sum_1M", in, 0);
    bench_global<4, sum_count>("global4_sumcount_1M", in, 0);
  }
  {
    input in(million, [=] __device__(u64 i) { return static_cast<u32>(random_at(i, 3) & 1 ? 7 : random_at(i, 4) % million); });
    bench_partition<1024, 16, 4, sum_only>("part_1024x16_sum_half_1M", in, 9, 0, true);
    bench_shared<block, 4, sum_only>("block4_sum_half_1M", in, 2000, 0);
  }
  const u64 sixteen = u64(1) << 24;
  many(sixteen, "16M", 24, 11, [=] __device__(u64 i) { return static_cast<u32>(random_at(i, 3) % sixteen); });
  std::printf("failures %d\n", failures);
  return failures != 0;
}
