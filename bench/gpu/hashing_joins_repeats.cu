// Joins whose build side repeats its keys, beside the time that writing their output takes; part of hashing_joins_bench.cu.
//
// u64 keys and u64 values on both sides; (key, probe value, build value) come out. Steps and kernels are those of the engine
// (src/gpu_engine/operators/grouped_build.cpp): ids of the build keys, rows sorted by id, ids of the probe keys, matches counted, listed
// and expanded. Timed from both sides' columns to the last row written, the host's looks at counts included.
#include <numeric>

#include "gpu_primitives/hash_join.cuh"
#include "gpu_primitives/radix_sort.cuh"
#include "gpu_primitives/scan.cuh"
#include "hashing_timing.cuh"
#include "must_table.hpp"

using namespace query::gpu;
using namespace hashing_bench;

void repeated_joins(u64 n);

namespace {

using keys = bitwise_keys<u64>;
using ids = table_of_ids<keys>;

struct key_column {
  const u64* k;
  __device__ __forceinline__ bool operator()(u64 i, u64& key) const {
    key = k[i];
    return true;
  }
};
struct no_note {
  __device__ void operator()(u32, u64) const {}
};

__global__ void __launch_bounds__(256) map_kernel(u64 n, ids t, u32* groups, key_column key) {
  map_keys(n, t, groups, keys{}, key, no_note{});
}
__global__ void __launch_bounds__(256) size_kernel(u64 n, const u32* groups, u64* sizes) { count_groups(n, groups, sizes); }
using offset_policy = scan_policy<u64>;
__global__ void __launch_bounds__(offset_policy::threads, offset_policy::blocks)
    offset_kernel(u64 n, const u64* sizes, void* temp, u64* offsets) {
  exclusive_scan<offset_policy, u64>(
      n, temp, u64(0), [=](u64 i) { return sizes[i]; }, [](u64 a, u64 b) { return a + b; }, [=](u64 i, u64 v) { offsets[i] = v; },
      [=](u64 all) { offsets[n] = all; });
}
__global__ void __launch_bounds__(256) lookup_kernel(u64 n, ids t, u32* groups, key_column key) {
  lookup_groups(n, t, groups, nullptr, nullptr, keys{}, key);
}
__global__ void __launch_bounds__(match_threads) count_kernel(match_source s, u64* entries, u64* outputs) {
  count_matches<join_kind::inner>(s, entries, outputs);
}
__global__ void scan_kernel(u64 n, u64* values) { scan_blocks(n, values); }
__global__ void __launch_bounds__(match_threads) list_kernel(match_source s, const u64* entries, const u64* outputs, match_entry* list) {
  list_matches<join_kind::inner>(s, entries, outputs, list);
}

template <class Value> using sort_policy = radix_policy<u32, Value>;
template <class Value> __global__ __launch_bounds__(512) void digit_kernel(u64 n, const u32* groups, void* temp) {
  radix_histogram<sort_policy<Value>, 32>(n, temp, [=](u64 i) { return groups[i]; });
}
// Sorts row numbers, or, where `values` are given, those.
template <class Value>
__global__ __launch_bounds__(sort_policy<Value>::threads, sort_policy<Value>::blocks) void sort_kernel(
    u32 pass, u64 n, const u32* groups, const Value* values, void* temp, radix_buffers<u32, Value> between, Value* out) {
  extern __shared__ __align__(16) u8 shared[];
  radix_sweep<sort_policy<Value>, 32, u32, Value, u32>(
      pass, n, temp, between, shared, [=](u64 i) { return groups[i]; }, [=](u64 i) { return values ? values[i] : static_cast<Value>(i); },
      [](u64, u32) {}, [=](u64 at, const Value& v) { out[at] = v; });
}

// Value: u32, the build row's number, or u64, its value itself.
template <class Value> struct joined {
  const u64 *pk, *pv, *bv;
  u64 *k, *p, *b;
  __device__ __forceinline__ void operator()(u64 at, u64 probe_row, u64 build) const {
    __stcs(k + at, pk[probe_row]);
    __stcs(p + at, pv[probe_row]);
    __stcs(b + at, sizeof(Value) == 8 ? build : bv[build]);
  }
};
template <class Value>
__global__ void __launch_bounds__(expand_threads)
    expand_kernel(u64 outputs, const match_entry* list, u64 entries, const Value* rows, joined<Value> out) {
  expand_matches(outputs, list, entries, rows, out);
}

// Another form: a thread a tile finds the tile's first entry before, so that no block waits for a search through memory; and within a tile
// 32-bit starts are searched, which lie closer together than entries.
__global__ void __launch_bounds__(256) locate_kernel(u64 tiles, const match_entry* list, u64 entries, u64* first) {
  const u64 tile = u64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (tile < tiles) first[tile] = query::gpu::detail::entry_of(list, entries, tile * expand_outputs);
  if (tile == tiles) first[tile] = entries - 1;
}
template <class Value>
__global__ void __launch_bounds__(expand_threads)
    expand_located_kernel(u64 outputs, const match_entry* list, const u64* first_of, const Value* rows, joined<Value> out) {
  __shared__ match_entry tile[expand_outputs + 1];
  __shared__ u32 starts[expand_outputs + 1];
  const u64 begin = u64(blockIdx.x) * expand_outputs;
  const u32 here = static_cast<u32>(smaller<u64>(expand_outputs, outputs - begin));
  const u64 first = first_of[blockIdx.x];
  const u32 count = static_cast<u32>(first_of[blockIdx.x + 1] - first) + 1;
  for (u32 i = threadIdx.x; i < count; i += expand_threads) {
    tile[i] = list[first + i];
    starts[i] = tile[i].at > begin ? static_cast<u32>(tile[i].at - begin) : 0;
  }
  __syncthreads();
  for (u32 i = threadIdx.x; i < here; i += expand_threads) {
    u32 low = 0, high = count;
    while (high - low > 1) {
      const u32 middle = (low + high) / 2;
      (starts[middle] <= i ? low : high) = middle;
    }
    const match_entry& e = tile[low];
    out(begin + i, e.probe_row, rows[e.first + (begin + i - e.at)]);
  }
}

u32 blocks_of(u64 n) { return static_cast<u32>(std::min<u64>(divide_up(n, 256), 132 * 16)); }
template <class Kernel> u32 resident(Kernel* kernel, u32 threads, u32 shared) {
  int blocks = 0;
  BENCH_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
  BENCH_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads), shared));
  return static_cast<u32>(std::max(1, blocks) * 132);
}

// Values are row numbers, by which an output row can be checked.
struct sides {
  u64 builds, probes, outputs = 0;
  array<u64> bk, bv, pk, pv;

  template <class BuildId, class ProbeId>
  sides(u64 b, u64 p, u64 distinct, const BuildId& build_id, const ProbeId& probe_id) : builds(b), probes(p), bk(b), bv(b), pk(p), pv(p) {
    fill(distinct, build_id, probe_id);
  }
  template <class BuildId, class ProbeId> void fill(u64 distinct, const BuildId& build_id, const ProbeId& probe_id) {
    array<u32> rows(distinct);
    array<u64> total(1);
    rows.set(0);
    total.set(0);
    u64 *k = bk.data(), *v = bv.data(), *q = pk.data(), *w = pv.data(), *all = total.data();
    u32* r = rows.data();
    each(builds, [=] __device__(u64 i) {
      const u64 id = build_id(i);
      k[i] = random_at(id, 0);
      v[i] = i;
      atomicAdd(r + id, 1u);
    });
    each(probes, [=] __device__(u64 i) {
      const u64 id = probe_id(i);
      q[i] = random_at(id, 0);
      w[i] = i;
      if (r[id]) atomicAdd(all, u64(r[id]));
    });
    outputs = total.first();
  }
};

template <class Value> class repeated_join {
 public:
  explicit repeated_join(const sides& s)
      : in(s), bits(table_bits(s.builds)), slots(table_slots(bits)), build_ids(s.builds), probe_ids(s.probes), sizes(s.builds),
        offsets(s.builds + 1), scan_temp(scan_temp_bytes<offset_policy, u64>(s.builds)),
        sort_temp(radix_temp_bytes<sort_policy<Value>, u32>(s.builds)), keys_0(s.builds), keys_1(s.builds), rows(s.builds),
        between(s.builds), entries(match_blocks(s.probes) + 1), outputs(match_blocks(s.probes) + 1), list(std::min(s.probes, s.outputs)),
        located(expand_blocks(s.outputs) + 1), k(s.outputs), p(s.outputs), b(s.outputs) {
    digit_blocks = resident(digit_kernel<Value>, 512, 0);
    offset_blocks = resident(offset_kernel, offset_policy::threads, 0);
    resident(sort_kernel<Value>, sort_policy<Value>::threads, shared);
  }

  void map_build() {
    slots.set(0xff);
    id_count.set(0);
    full.set(0);
    map_kernel<<<blocks_of(in.builds), 256>>>(in.builds, table(), build_ids.data(), key_column{in.bk.data()});
    groups = id_count.first();
  }
  void find_offsets() {
    BENCH_CUDA(cudaMemsetAsync(sizes.data(), 0, groups * 8));
    size_kernel<<<blocks_of(in.builds), 256>>>(in.builds, build_ids.data(), sizes.data());
    BENCH_CUDA(cudaMemsetAsync(scan_temp.data(), 0, scan_temp_bytes<offset_policy, u64>(groups)));
    offset_kernel<<<static_cast<u32>(scan_blocks<offset_policy>(groups, offset_blocks)), offset_policy::threads>>>(
        groups, sizes.data(), scan_temp.data(), offsets.data());
  }
  void sort_rows() {
    using policy = sort_policy<Value>;
    sort_temp.set(0);
    const u64 n = in.builds;
    digit_kernel<Value><<<static_cast<u32>(radix_histogram_blocks<policy>(n, digit_blocks)), policy::histogram_threads>>>(
        n, build_ids.data(), sort_temp.data());
    const radix_buffers<u32, Value> buffers{{keys_0.data(), keys_1.data()}, {between.data(), rows.data()}};
    const Value* values = nullptr;
    if constexpr (sizeof(Value) == 8) values = in.bv.data();
    for (u32 pass = 0; pass < radix_passes(32); ++pass) {
      sort_kernel<Value><<<static_cast<u32>(radix_sweep_blocks<policy>(n)), policy::threads, shared>>>(
          pass, n, build_ids.data(), values, sort_temp.data(), buffers, rows.data());
    }
  }
  void look_up() {
    lookup_kernel<<<blocks_of(in.probes), 256>>>(in.probes, table(), probe_ids.data(), key_column{in.pk.data()});
  }
  void list_them() {
    const u64 blocks = match_blocks(in.probes);
    const match_source source{in.probes, probe_ids.data(), nullptr, offsets.data()};
    count_kernel<<<static_cast<u32>(blocks), match_threads>>>(source, entries.data(), outputs.data());
    scan_kernel<<<1, 1024>>>(blocks, entries.data());
    scan_kernel<<<1, 1024>>>(blocks, outputs.data());
    BENCH_CUDA(cudaMemcpy(&listed, entries.data() + blocks, 8, cudaMemcpyDeviceToHost));
    BENCH_CUDA(cudaMemcpy(&total, outputs.data() + blocks, 8, cudaMemcpyDeviceToHost));
    list_kernel<<<static_cast<u32>(blocks), match_threads>>>(source, entries.data(), outputs.data(), list.data());
  }
  void expand(bool locate) {
    const u64 tiles = expand_blocks(total);
    const joined<Value> out{in.pk.data(), in.pv.data(), in.bv.data(), k.data(), p.data(), b.data()};
    if (locate) {
      locate_kernel<<<static_cast<u32>(divide_up(tiles + 1, 256)), 256>>>(tiles, list.data(), listed, located.data());
      expand_located_kernel<Value><<<static_cast<u32>(tiles), expand_threads>>>(total, list.data(), located.data(), rows.data(), out);
    } else {
      expand_kernel<Value><<<static_cast<u32>(tiles), expand_threads>>>(total, list.data(), listed, rows.data(), out);
    }
  }

  // Pairs that fit, in ascending order and so distinct, as many as there must be.
  bool right() const {
    if (full.first() != 0 || total != in.outputs) {
      std::printf("  outputs %llu, not %llu\n", total, in.outputs);
      return false;
    }
    return in_order();
  }
  bool in_order() const {
    array<u64> wrong(1);
    wrong.set(0);
    u64 *w = wrong.data(), *ok = k.data(), *op = p.data(), *ob = b.data(), *bk = in.bk.data(), *pk = in.pk.data();
    each(total, [=, builds = in.builds, probes = in.probes] __device__(u64 i) {
      const bool fits = op[i] < probes && ob[i] < builds && pk[op[i]] == ok[i] && bk[ob[i]] == ok[i];
      const bool ascends = i == 0 || op[i - 1] < op[i] || (op[i - 1] == op[i] && ob[i - 1] < ob[i]);
      if (!fits || !ascends) atomicAdd(w, 1ull);
    });
    return wrong.first() == 0;
  }

  void clear_output() const {
    k.set(0xff);
    p.set(0xff);
    b.set(0xff);
  }

 private:
  ids table() const { return {{slots.data(), bits}, id_count.data(), in.builds, full.data()}; }

  const sides& in;
  u32 bits;
  array<hash_table_ref<keys, u32>::slot> slots;
  array<u32> build_ids, probe_ids;
  array<u64> sizes, offsets;
  array<u8> scan_temp, sort_temp;
  array<u32> keys_0, keys_1;
  array<Value> rows, between;
  array<u64> entries, outputs;
  array<match_entry> list;
  array<u64> located, k, p, b;
  array<u64> id_count{1};
  array<u32> full{1};
  u64 groups = 0, listed = 0, total = 0;
  u32 digit_blocks, offset_blocks;
  static constexpr u32 shared = radix_shared_bytes<sort_policy<Value>, u32, Value>();
};

template <class Value>
void bench_form(const std::string& name, const sides& in, bool locate, const std::string& form, bool asked) {
  repeated_join<Value> join(in);
  join.clear_output();
  const auto all = [&] {
    join.map_build();
    join.find_offsets();
    join.sort_rows();
    join.look_up();
    join.list_them();
    join.expand(locate);
  };
  const double ms = static_cast<double>(median_ms(all));
  const bool right = join.right();
  const double outputs = static_cast<double>(in.outputs), bytes = 24 * outputs;
  const double write = static_cast<double>(median_ms([&] { join.clear_output(); }));
  report("join_repeats_" + name, in.outputs, bytes, static_cast<float>(ms), right);
  must_rows::add(asked ? "join, " + name : "  variant: " + form, ms, must_rows::measured_rate(outputs / ms * 1e-6, "G output rows/s"),
                 must_rows::peer_time("write of the output", write), asked ? must_rows::times_of_peer(0.5) : must_rows::demand{}, right);
  const auto part = [](auto run) { return static_cast<double>(median_ms(run)); };
  std::printf("    %llu build, %llu probe, %llu output rows;", in.builds, in.probes, in.outputs);
  std::printf(" map %.3f, offsets %.3f, sort %.3f,", part([&] { join.map_build(); }), part([&] { join.find_offsets(); }),
              part([&] { join.sort_rows(); }));
  std::printf(" look up %.3f, list %.3f, expand %.3f ms\n", part([&] { join.look_up(); }), part([&] { join.list_them(); }),
              part([&] { join.expand(locate); }));
}

void bench_repeats(const std::string& name, const sides& in) {
  bench_form<u32>(name, in, false, "", true);
  bench_form<u32>(name, in, true, "tiles located first", false);
  bench_form<u64>(name, in, true, "tiles located first, values sorted along", false);
}

// Density 1 / rank.
__device__ u64 zipf(u64 i, u64 seed, u64 distinct) {
  const double unit = static_cast<double>(random_at(i, seed) >> 11) * 0x1p-53;
  return static_cast<u64>(pow(static_cast<double>(distinct), unit)) - 1;
}

}  // namespace

// About 2n rows come out.
void repeated_joins(u64 n) {
  {
    // Every key has 1 to 50,000 build rows, scattered over the side.
    const u64 distinct = std::max<u64>(n / 100000, 2), probes = n / 12500;
    std::vector<u64> ends(distinct);
    for (u64 d = 0; d < distinct; ++d) ends[d] = 1 + random_at(d, 11) % 50000;
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    const u64 builds = ends.back();
    array<u64> device_ends(distinct);
    BENCH_CUDA(cudaMemcpy(device_ends.data(), ends.data(), distinct * 8, cudaMemcpyHostToDevice));
    const u64* e = device_ends.data();
    const u64 stride = builds % 1000003 ? 1000003 : 999983;
    const sides in(
        builds, probes, distinct,
        [=] __device__(u64 i) {
          const u64 row = i * stride % builds;
          u64 low = 0, high = distinct - 1;  // the first key that ends behind the row
          while (low < high) {
            const u64 middle = (low + high) / 2;
            if (e[middle] > row) {
              high = middle;
            } else {
              low = middle + 1;
            }
          }
          return low;
        },
        [=] __device__(u64 i) { return random_at(i, 12) % distinct; });
    bench_repeats("multiplicity 1..50,000", in);
  }
  {
    const u64 distinct = n / 128;
    const sides in(
        n / 8, n / 8, distinct, [=] __device__(u64 i) { return zipf(i, 13, distinct); },
        [=] __device__(u64 i) { return random_at(i, 14) % distinct; });
    bench_repeats("Zipf build keys", in);
  }
  {
    const u64 distinct = n / 128;
    const sides in(
        n / 32, n / 2, distinct, [=] __device__(u64 i) { return random_at(i, 15) % distinct; },
        [=] __device__(u64 i) { return zipf(i, 16, distinct); });
    bench_repeats("Zipf probe keys, 4 build rows each", in);
  }
}
