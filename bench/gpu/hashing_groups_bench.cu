// Fused group-by, u32 key and f64 value, beside its peers (hashing_groups_peers.cuh) in the same run: in the shape that plan_groups
// chooses, as the engine does, and in others. Lines that begin with "MUST |" are the rows of the table of required speeds (must_table.hpp).
//   hashing_groups_bench [log2 of rows = 27] [part of names]
// Build: scripts/build_gpu_tests
#include <cstring>

#include "hashing_groups_peers.cuh"
#include "must_table.hpp"

using namespace query::gpu;
using namespace hashing_bench;

namespace {

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
double copy_gbs = 0;

// What the table asks of the shape that is timed next; its peers.
struct asked {
  std::string name;  // empty: another shape than the plan's
  must_rows::demand must{};
  must_rows::peer_time peer{"", 0};
};

// Everything a group-by of ours needs around its kernels.
template <class A> struct query_state {
  const group_input& in;
  array<typename group_table<keys, A>::slot> slots;
  u32 bits;
  array<u64> tiles{n / 32 + 4096}, tile_count{1}, count{1};
  array<u32> full{1};
  array<u32> ok;
  array<typename A::State> os;

  query_state(const group_input& from, u32 table)
      : in(from), slots(table_slots(table)), bits(table), ok(from.groups + 4096), os(from.groups + 4096) {}
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
  void finish(const std::string& name, float ms, const asked& ask) {
    const bool ok_now = full.first() == 0 && in.right(ok.data(), os.data(), count.first());
    const double grows = static_cast<double>(n) / static_cast<double>(ms) * 1e-6;
    report(name, n, 12.0 * static_cast<double>(n) + static_cast<double>(in.groups * (4 + sizeof(typename A::State))), ms, ok_now);
    must_rows::add(ask.name.empty() ? "  variant: " + name : ask.name + " (" + name + ")", ms, must_rows::measured_rate(grows, "Grow/s"),
                   ask.peer, ask.name.empty() ? must_rows::demand{} : ask.must, ok_now);
  }
};

template <group_copies C, int Items, class A>
void bench_shared(const std::string& name, const group_input& in, const shared_group_shape& shape, const asked& ask) {
  if (!std::strstr(name.c_str(), wanted)) return;
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
  q.finish(name + " t" + std::to_string(shape.threads) + " b" + std::to_string(blocks), ms, ask);
}

template <int Items, class A> void bench_global(const std::string& name, const group_input& in, const asked& ask) {
  if (!std::strstr(name.c_str(), wanted)) return;
  query_state<A> q(in, table_bits(in.groups));
  const float ms = median_ms([&] {
    q.begin();
    global_kernel<Items, A><<<132 * 8, 256>>>(group_rows{n}, q.table(), q.again(), q.rows());
    q.end();
  });
  q.finish(name, ms, ask);
}

// The shape of a partition's tables for `bits` of partitions.
template <class A> shared_group_shape partition_shape(const group_input& in, u32 bits, u32 shared_budget = budget) {
  return plan_shared_groups(group_copies::block, divide_up(in.groups, u64(1) << bits), 4, sizeof(typename A::State), shared_budget);
}

template <int ScatterItems, int Items, class A, int Threads = 1024>
void bench_partition(const std::string& name, const group_input& in, u32 bits, const shared_group_shape& shape, const asked& ask) {
  if (!std::strstr(name.c_str(), wanted)) return;
  const u32 bytes = scatter_bytes(bits, Threads * ScatterItems, 4, 8);
  if (!shape.bytes || bytes > budget) {
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
  q.finish(name + " p" + std::to_string(bits) + " t" + std::to_string(shape.threads) + " c" + std::to_string(shape.capacity), ms, ask);
  const float first = median_ms(count_part);
  count_part();
  // Each run moves the cursors on: keep them where they were.
  const float second = median_ms([&] {
    BENCH_CUDA(cudaMemcpyAsync(cursors.data(), starts.data(), parts * 8, cudaMemcpyDeviceToDevice));
    scatter_part();
  });
  const float third = median_ms(aggregate_part);
  std::printf("    count %.3f, scatter %.3f (%u blocks), aggregate %.3f ms (%u bytes of shared memory)\n", static_cast<double>(first),
              static_cast<double>(second), scatter_blocks, static_cast<double>(third), shape.bytes);
}

constexpr auto thread = group_copies::thread;
constexpr auto warp = group_copies::warp;
constexpr auto block = group_copies::block;

// As the engine runs it.
template <class A> void bench_planned(const std::string& tag, const group_input& in, const asked& ask) {
  const group_plan plan = plan_groups(n, in.groups, 4, sizeof(typename A::State), true, budget);
  switch (plan.tier) {
    case group_tier::shared_thread: return bench_shared<thread, 4, A>("thread4_" + tag, in, plan.shape, ask);
    case group_tier::shared_warp: return bench_shared<warp, 4, A>("warp4_" + tag, in, plan.shape, ask);
    case group_tier::shared_block: return bench_shared<block, 4, A>("block4_" + tag, in, plan.shape, ask);
    case group_tier::partition:
      if (plan.scatter_items == 16) return bench_partition<16, 4, A>("part16_" + tag, in, plan.partition_bits, plan.shape, ask);
      return bench_partition<8, 4, A>("part8_" + tag, in, plan.partition_bits, plan.shape, ask);
    case group_tier::global: return bench_global<4, A>("global4_" + tag, in, ask);
  }
}

// The other forms that fit.
template <class A> void bench_few(const std::string& tag, const group_input& in) {
  const auto shape = [&](group_copies copies) { return plan_shared_groups(copies, in.groups, 4, sizeof(typename A::State), budget); };
  bench_shared<warp, 4, A>("warp4_" + tag, in, shape(warp), {});
  bench_shared<block, 4, A>("block4_" + tag, in, shape(block), {});
}
template <class A> void bench_many(const std::string& tag, const group_input& in) {
  const u32 bits = plan_groups(n, in.groups, 4, sizeof(typename A::State), true, budget).partition_bits;
  if (bits == 0) return;
  // Two blocks a multiprocessor scatter, so that one loads while the other writes.
  bench_partition<16, 4, A, 512>("part512x16_" + tag, in, bits, partition_shape<A>(in, bits), {});
  if (in.groups < 10000000) {
    bench_partition<16, 4, A>("part16_" + tag, in, bits, partition_shape<A>(in, bits), {});
    bench_partition<8, 4, A>("part8_" + tag, in, bits + 1, partition_shape<A>(in, bits + 1, budget / 2 - 1024), {});
  } else {
    bench_partition<16, 2, A>("part16_2_" + tag, in, bits, partition_shape<A>(in, bits), {});
    if (bits < most_partition_bits) {
      bench_partition<16, 4, A>("part16_" + tag, in, bits + 1, partition_shape<A>(in, bits + 1, budget / 2 - 1024), {});
    } else {
      bench_partition<16, 4, A>("part16_half_" + tag, in, bits, partition_shape<A>(in, bits, budget / 2 - 1024), {});
    }
  }
}

// One aggregate: its peers, ours as planned, other shapes. rate: what is asked for, or times of CUB's time.
template <class A>
void bench_aggregate(const char* what, const std::string& groups, const group_input& in, int key_bits, double rate, double times) {
  const std::string tag = std::string(what) + "_" + groups;
  if (!std::strstr(tag.c_str(), wanted)) return;
  const double bytes = 12.0 * static_cast<double>(n);
  const auto sorted = group_by_sort<A>(in, key_bits);
  report("cub_sort_reduce_" + tag, n, bytes, sorted.ms, sorted.right);
  // For few groups a table in global memory alone would be a hundred times slower.
  const auto hashed = group_by_atomics<A>(in, in.groups <= 1024);
  report("plain_atomics_" + tag, n, bytes, hashed.ms, hashed.right);
  const auto peer_row = [&](const char* name, const peer_groups<A>& p) {
    const double ms = static_cast<double>(p.ms), grows = static_cast<double>(n) / ms * 1e-6;
    must_rows::add(std::string("  peer: ") + name + ", " + tag, ms, must_rows::measured_rate(grows, "Grow/s"),
                   must_rows::peer_time("", 0), {}, p.right);
  };
  peer_row("CUB sort + reduce", sorted);
  peer_row("atomics table", hashed);
  asked ask{std::string("group_by ") + what + ", " + groups + " groups"};
  ask.must = rate > 0 ? must_rows::rate_of(must_rows::scaled(rate, copy_gbs)) : must_rows::times_of_peer(times);
  const bool sort_is_peer = rate == 0 || sorted.ms < hashed.ms;
  ask.peer = sort_is_peer ? must_rows::peer_time("CUB sort + reduce", static_cast<double>(sorted.ms))
                          : must_rows::peer_time("atomics table", static_cast<double>(hashed.ms));
  bench_planned<A>(tag, in, ask);
  if (in.groups <= 1024) {
    bench_few<A>(tag, in);
  } else {
    bench_many<A>(tag, in);
  }
}

template <class KeyOf> void all_aggregates(u64 groups, const char* name, int key_bits, double rate, const KeyOf& key_of) {
  const group_input in(n, groups, key_of);
  bench_aggregate<sum_only>("sum", name, in, key_bits, rate, 0);
  if (groups <= 16) return;
  bench_aggregate<sum_count>("sum+count", name, in, key_bits, 0, 2);
  if (groups > 1000) bench_planned<sum_count_32>(std::string("sum+count_of_32_bits_") + name, in, {});
  bench_aggregate<statistics>("sum+count+min+max", name, in, key_bits, 0, 1.7);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) n = u64(1) << std::atoi(argv[1]);
  if (argc > 2) wanted = argv[2];
  copy_gbs = report_copy();
  all_aggregates(16, "16", 4, 150, [] __device__(u64 i) { return static_cast<u32>(random_at(i, 3) % 16); });
  all_aggregates(1000, "1k", 10, 120, [] __device__(u64 i) { return static_cast<u32>(random_at(i, 3) % 1000); });
  const u64 million = u64(1) << 20, sixteen = u64(1) << 24;
  all_aggregates(million, "1M", 20, 35, [=] __device__(u64 i) { return static_cast<u32>(random_at(i, 3) % million); });
  all_aggregates(sixteen, "16M", 24, 30, [=] __device__(u64 i) { return static_cast<u32>(random_at(i, 3) % sixteen); });
  // One key in half of the rows: nothing is asked, the time must stay in the same order.
  {
    const group_input in(n, 1000, [] __device__(u64 i) { return static_cast<u32>(random_at(i, 3) & 1 ? 7 : random_at(i, 4) % 1000); });
    bench_planned<sum_only>("sum_half_1k", in, {});
  }
  {
    const group_input in(n, million,
                         [=] __device__(u64 i) { return static_cast<u32>(random_at(i, 3) & 1 ? 7 : random_at(i, 4) % million); });
    bench_planned<sum_only>("sum_half_1M", in, {});
  }
  std::printf("failures %d\n", failures);
  return failures != 0;
}
