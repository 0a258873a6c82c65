// Hash joins of u64 keys and u64 payloads, output materialised (key, probe value, build value), beside a plain table in the same run; and
// joins with repeated keys (hashing_joins_repeats.cu). Lines that begin with "MUST |" are the rows of the table of required speeds
// (must_table.hpp).   hashing_joins_bench [log2 of probe rows = 27] [unique | repeats]
// Build: scripts/build_gpu_tests
#include <cstring>

#include "gpu_primitives/group_partition.cuh"
#include "gpu_primitives/hash_join.cuh"
#include "hashing_timing.cuh"
#include "must_table.hpp"

void repeated_joins(query::gpu::u64 n);  // hashing_joins_repeats.cu

using namespace query::gpu;
using namespace hashing_bench;

namespace {

using keys = bitwise_keys<u64>;
using table = hash_table_ref<keys, u64>;

struct payload_args {
  u64 v;
};
struct build_rows {
  const u64* k;
  const u64* v;
  __device__ __forceinline__ bool operator()(u64 i, u64& key, u64& payload) const {
    key = __ldcs(k + i);
    payload = __ldcs(v + i);
    return true;
  }
  __device__ __forceinline__ bool operator()(u64 i, u64& key, payload_args& a) const { return (*this)(i, key, a.v); }
};
struct scattered_build {
  const u64* k;
  const payload_args* v;
  __device__ __forceinline__ bool operator()(u64 i, u64& key, u64& payload) const {
    key = __ldcs(k + i);
    payload = __ldcs(&v[i].v);
    return true;
  }
};
struct joined {
  u64* k;
  u64* pv;
  u64* bv;
  __device__ __forceinline__ void operator()(u64 at, u64, const u64& key, const payload_args& a, bool, const u64& payload) const {
    __stcs(k + at, key);
    __stcs(pv + at, a.v);
    __stcs(bv + at, payload);
  }
};

template <int Items, class Row> __global__ void __launch_bounds__(256) build_kernel(u64 n, table t, u32* repeated, Row row) {
  build_unique<Items>(n, t, repeated, keys{}, row);
}
template <int Items, int Threads, class Append>
__global__ void __launch_bounds__(Threads) probe_kernel(u64 n, table t, Append append, build_rows row, joined out) {
  probe_unique<join_kind::inner, Items, payload_args>(n, t, append, nullptr, keys{}, row, out);
}
__global__ void __launch_bounds__(512, 2) count_kernel(u64 n, partition_places p, build_rows row) {
  extern __shared__ __align__(16) unsigned char shared[];
  count_partitions<8, payload_args>(n, p, keys{}, row, shared);
}
__global__ void plan_kernel(partition_places p) { plan_partitions(p); }
// Tiles of 8192 rows, whatever the threads.
template <int Threads>
__global__ void __launch_bounds__(Threads, 1024 / Threads)
    scatter_kernel(u64 n, partition_places p, u64* k, payload_args* a, build_rows row) {
  extern __shared__ __align__(16) unsigned char shared[];
  scatter_partitions<8192 / Threads>(n, p, k, a, keys{}, row, shared);
}

template <int Items, int Threads>
__global__ void __launch_bounds__(Threads, 1024 / Threads)
    pipelined_kernel(u64 n, table t, ordered_append append, build_rows row, joined out) {
  probe_unique_pipelined<join_kind::inner, Threads, Items, payload_args>(n, t, append, nullptr, keys{}, row, out);
}

// The plain way: one compare-and-swap a build row, one counter for the output.
__global__ void plain_build(const u64* k, const u64* v, u64 n, table::slot* slots, u64 mask) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    u64 at = mix64(k[i]) & mask;
    while (atomicCAS(&slots[at].key, ~0ull, k[i]) != ~0ull) at = (at + 1) & mask;
    slots[at].payload = v[i];
  }
}
__global__ void plain_probe(const u64* k, const u64* v, u64 n, const table::slot* slots, u64 mask, joined out, u64* count) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    const u64 key = k[i];
    u64 at = mix64(key) & mask;
    while (slots[at].key != key && slots[at].key != ~0ull) at = (at + 1) & mask;
    if (slots[at].key == key) out(take_one(count), i, key, payload_args{v[i]}, true, slots[at].payload);
  }
}

u64 n = u64(1) << 27;

struct join_input {
  u64 builds;
  array<u64> bk, bv, pk, pv, ok, opv, obv, bad{1};
  explicit join_input(u64 b) : builds(b), bk(b), bv(b), pk(n), pv(n), ok(n), opv(n), obv(n) { fill(); }
  void fill() {
    u64 *k = bk.data(), *v = bv.data(), *q = pk.data(), *w = pv.data();
    each(builds, [=] __device__(u64 i) {
      k[i] = random_at(i, 0);
      v[i] = k[i] * 3 + 1;
    });
    each(n, [=, b = builds] __device__(u64 i) {
      q[i] = random_at(random_at(i, 9) % b, 0);
      w[i] = i;
    });
  }
  build_rows build() const { return {bk.data(), bv.data()}; }
  build_rows probe() const { return {pk.data(), pv.data()}; }
  joined out() const { return {ok.data(), opv.data(), obv.data()}; }
  bool right(u64 count, bool ordered) {
    bad.set(0);
    u64 *k = ok.data(), *w = opv.data(), *v = obv.data(), *q = pk.data(), *wrong = bad.data();
    each(count, [=] __device__(u64 i) {
      if (v[i] != k[i] * 3 + 1 || q[w[i]] != k[i] || (ordered && w[i] != i)) atomicAdd(wrong, 1ull);
    });
    return count == n && bad.first() == 0;
  }
};

double bytes_of(const join_input& in) { return 16.0 * static_cast<double>(in.builds) + 40.0 * static_cast<double>(n); }

enum class output { ordered, pipelined, unordered };

// asked: the name of the case in the table; empty: another form than the engine's.
template <int BuildItems, int ProbeItems, output Output, int Threads = 256, int ScatterThreads = 1024>
void bench_ours(const std::string& name, join_input& in, u32 bits, u32 partition_bits, float peer_ms, const std::string& asked = "") {
  array<table::slot> slots(table_slots(bits));
  const table t{slots.data(), bits};
  array<u32> repeated(1);
  const u64 tiles = probe_tiles(n, Threads, ProbeItems);
  array<u64> ticket(1), states(append_states(tiles)), total(1);
  const u64 parts = u64(1) << partition_bits;
  array<u64> counts(parts), starts(parts + 1), cursors(parts), items(parts + 1), k(partition_bits ? in.builds : 1);
  array<payload_args> a(partition_bits ? in.builds : 1);
  const partition_places places{
      partition_bits, join_partition_shift(partition_bits), 1u << 20, counts.data(), starts.data(), cursors.data(), items.data()};
  const u32 bytes = scatter_bytes(partition_bits, 1024 * 8, 8, 8);
  auto* const scatter_rows = scatter_kernel<ScatterThreads>;
  BENCH_CUDA(cudaFuncSetAttribute(scatter_rows, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
  const auto build = [&] {
    slots.set(0xff);
    repeated.set(0);
    const u32 blocks = static_cast<u32>(divide_up(in.builds, 256 * BuildItems));
    if (partition_bits) {
      counts.set(0);
      count_kernel<<<132 * 4, 512, 4u << partition_bits>>>(in.builds, places, in.build());
      plan_kernel<<<1, 1024>>>(places);
      scatter_rows<<<132 * (1024 / ScatterThreads), ScatterThreads, bytes>>>(in.builds, places, k.data(), a.data(), in.build());
      build_kernel<BuildItems><<<blocks, 256>>>(in.builds, t, repeated.data(), scattered_build{k.data(), a.data()});
    } else {
      build_kernel<BuildItems><<<blocks, 256>>>(in.builds, t, repeated.data(), in.build());
    }
  };
  const auto probe = [&] {
    ticket.set(0);
    states.set(0);
    total.set(0);
    if constexpr (Output == output::pipelined) {
      int resident = 0;
      BENCH_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, pipelined_kernel<ProbeItems, Threads>, Threads, 0));
      const ordered_append append{ticket.data(), states.data(), total.data()};
      pipelined_kernel<ProbeItems, Threads><<<static_cast<u32>(132 * resident), Threads>>>(n, t, append, in.probe(), in.out());
    } else if constexpr (Output == output::ordered) {
      const ordered_append append{ticket.data(), states.data(), total.data()};
      probe_kernel<ProbeItems, Threads><<<static_cast<u32>(tiles), Threads>>>(n, t, append, in.probe(), in.out());
    } else {
      probe_kernel<ProbeItems, Threads><<<static_cast<u32>(tiles), Threads>>>(n, t, unordered_append{total.data()}, in.probe(), in.out());
    }
  };
  const float ms = median_ms([&] {
    build();
    probe();
  });
  const bool right = repeated.first() == 0 && in.right(total.first(), Output != output::unordered);
  const float build_ms = median_ms(build), probe_ms = median_ms(probe), clear_ms = median_ms([&] { slots.set(0xff); });
  float scatter_ms = 0;
  if (partition_bits) {
    scatter_ms = median_ms([&] {
      counts.set(0);
      count_kernel<<<132 * 4, 512, 4u << partition_bits>>>(in.builds, places, in.build());
      plan_kernel<<<1, 1024>>>(places);
      scatter_rows<<<132 * (1024 / ScatterThreads), ScatterThreads, bytes>>>(in.builds, places, k.data(), a.data(), in.build());
    });
  }
  const double grows = report(name, n + in.builds, bytes_of(in), ms, right);
  must_rows::add(asked.empty() ? "  variant: " + name : asked, static_cast<double>(ms), {grows, "Grow/s"},
                 {"plain hash join", static_cast<double>(peer_ms)}, asked.empty() ? must_rows::demand{} : must_rows::times_of_peer(1.2),
                 right);
  std::printf("    build %.3f (clear %.3f, scatter %.3f), probe %.3f ms\n", static_cast<double>(build_ms), static_cast<double>(clear_ms),
              static_cast<double>(scatter_ms), static_cast<double>(probe_ms));
}

float bench_plain(const std::string& name, join_input& in) {
  const u32 bits = table_bits(in.builds);
  array<table::slot> slots(table_slots(bits));
  const u64 mask = (u64(1) << bits) - 1;
  array<u64> count(1);
  const float ms = median_ms([&] {
    slots.set(0xff);
    count.set(0);
    plain_build<<<static_cast<u32>(divide_up(in.builds, 256)), 256>>>(in.bk.data(), in.bv.data(), in.builds, slots.data(), mask);
    plain_probe<<<static_cast<u32>(divide_up(n, 256)), 256>>>(in.pk.data(), in.pv.data(), n, slots.data(), mask, in.out(), count.data());
  });
  report(name, n + in.builds, bytes_of(in), ms, in.right(count.first(), false));
  return ms;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) n = u64(1) << std::atoi(argv[1]);
  const auto wanted = [&](const char* part) { return argc <= 2 || std::strcmp(argv[2], part) == 0; };
  report_copy();
  for (const u64 builds : {n / 8, n}) {
    if (!wanted("unique")) break;
    join_input in(builds);
    const std::string tag = builds == n ? "_build_n" : "_build_n/8";
    const float peer = bench_plain("plain_join" + tag, in);
    const u32 bits = join_table_bits(builds), scatter = join_scatter_bits(bits, sizeof(table::slot));
    bench_ours<2, 2, output::pipelined, 512>("join_pipelined_512x2" + tag, in, bits, scatter, peer,
                                             builds == n ? "join, unique build 2^27, probe 2^27" : "join, unique build 2^24, probe 2^27");
    bench_ours<2, 2, output::pipelined, 512, 512>("join_pipelined_512x2_scatter_512" + tag, in, bits, scatter, peer);
    bench_ours<4, 2, output::pipelined, 512>("join_pipelined_512x2_build_4" + tag, in, bits, scatter, peer);
    bench_ours<2, 4, output::pipelined>("join_pipelined" + tag, in, bits, scatter, peer);
    bench_ours<2, 4, output::ordered>("join_ordered" + tag, in, bits, scatter, peer);
    bench_ours<2, 4, output::unordered>("join_unordered" + tag, in, bits, scatter, peer);
    if (builds != n) bench_ours<2, 4, output::unordered>("join_unordered_half_full" + tag, in, bits - 1, scatter - 1, peer);
    bench_ours<2, 4, output::unordered>("join_unordered_unscattered" + tag, in, bits, 0, peer);
  }
  if (wanted("repeats")) repeated_joins(n);
  std::printf("failures %d\n", failures);
  return failures != 0;
}
