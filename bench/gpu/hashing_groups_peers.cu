// The peers of hashing_groups_bench.cu.
#include "hashing_groups_peers.cuh"

#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>

namespace hashing_bench {

namespace {

// A row's state, and two states together.
template <class A> struct state_of_value {
  __device__ typename A::State operator()(double v) const {
    typename A::State s;
    A::init(s);
    A::update(s, value_args{v});
    return s;
  }
};
template <class A> struct merged {
  using State = typename A::State;
  __device__ State operator()(const State& a, const State& b) const {
    State s = a;
    A::merge(s, b);
    return s;
  }
};

constexpr u32 no_key = ~0u;
template <class A> struct entry {
  u32 key;
  typename A::State state;
};

// Linear probing; the table is at most half full.
template <class A> __device__ entry<A>* place_of(entry<A>* table, u32 mask, u32 key) {
  u32 at = mix32(key) & mask;
  while (true) {
    u32 seen = *reinterpret_cast<volatile u32*>(&table[at].key);
    if (seen == no_key) seen = atomicCAS(&table[at].key, no_key, key);
    if (seen == no_key || seen == key) return table + at;
    at = (at + 1) & mask;
  }
}

template <class A> __device__ void clear(entry<A>* table, u64 size, u64 first, u64 step) {
  for (u64 i = first; i < size; i += step) {
    table[i].key = no_key;
    A::init(table[i].state);
  }
}
template <class A> __global__ void clear_table(entry<A>* table, u64 size) {
  clear(table, size, u64(blockIdx.x) * blockDim.x + threadIdx.x, u64(gridDim.x) * blockDim.x);
}

template <class A> __global__ void into_table(const u32* k, const double* v, u64 n, entry<A>* table, u32 mask) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    A::update_atomic(place_of(table, mask, k[i])->state, value_args{v[i]});
  }
}

constexpr u32 block_slots = 2048;
template <class A> __global__ void into_blocks(const u32* k, const double* v, u64 n, entry<A>* table, u32 mask) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto* const own = reinterpret_cast<entry<A>*>(shared);
  clear(own, block_slots, threadIdx.x, blockDim.x);
  __syncthreads();
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    A::update_atomic(place_of(own, block_slots - 1, k[i])->state, value_args{v[i]});
  }
  __syncthreads();
  for (u32 i = threadIdx.x; i < block_slots; i += blockDim.x) {
    if (own[i].key != no_key) A::merge_atomic(place_of(table, mask, own[i].key)->state, own[i].state);
  }
}

template <class A> __global__ void out_of_table(const entry<A>* table, u64 size, u32* ok, typename A::State* os, u64* count) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < size; i += u64(gridDim.x) * blockDim.x) {
    if (table[i].key == no_key) continue;
    const u64 at = take_one(count);
    ok[at] = table[i].key;
    os[at] = table[i].state;
  }
}

}  // namespace

template <class A> peer_groups<A> group_by_sort(const group_input& in, int key_bits) {
  using State = typename A::State;
  const int n = static_cast<int>(in.n);
  array<u32> ks(in.n), uk(in.groups + 1);
  array<double> vs(in.n);
  array<State> out(in.groups + 1);
  array<int> runs(1);
  size_t sort_bytes = 0, reduce_bytes = 0;
  const auto sort = [&](void* room) {
    BENCH_CUDA(cub::DeviceRadixSort::SortPairs(room, sort_bytes, in.k.data(), ks.data(), in.v.data(), vs.data(), n, 0, key_bits));
  };
  const auto reduce = [&](void* room) {
    const auto states = thrust::make_transform_iterator(static_cast<const double*>(vs.data()), state_of_value<A>{});
    BENCH_CUDA(cub::DeviceReduce::ReduceByKey(room, reduce_bytes, ks.data(), uk.data(), states, out.data(), runs.data(), merged<A>{}, n));
  };
  sort(nullptr);
  reduce(nullptr);
  array<char> room(std::max(sort_bytes, reduce_bytes));
  peer_groups<A> result;
  result.ms = median_ms([&] {
    sort(room.data());
    reduce(room.data());
  });
  result.right = in.right(uk.data(), out.data(), static_cast<u64>(runs.first()));
  return result;
}

template <class A> peer_groups<A> group_by_atomics(const group_input& in, bool in_blocks) {
  const u32 bits = table_bits(in.groups);
  const u64 size = u64(1) << bits;
  const u32 mask = static_cast<u32>(size - 1), clearing = static_cast<u32>(std::min<u64>(4096, divide_up(size, 256)));
  array<entry<A>> table(size);
  array<u32> ok(in.groups + 1);
  array<typename A::State> os(in.groups + 1);
  array<u64> count(1);
  const u32 shared = block_slots * sizeof(entry<A>);
  int resident = 0, multiprocessors = 0;
  BENCH_CUDA(cudaFuncSetAttribute(into_blocks<A>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
  BENCH_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, into_blocks<A>, 512, shared));
  BENCH_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  peer_groups<A> result;
  result.ms = median_ms([&] {
    count.set(0);
    clear_table<A><<<clearing, 256>>>(table.data(), size);
    if (in_blocks) {
      into_blocks<A><<<static_cast<u32>(resident * multiprocessors), 512, shared>>>(in.k.data(), in.v.data(), in.n, table.data(), mask);
    } else {
      into_table<A><<<static_cast<u32>(divide_up(in.n, 256)), 256>>>(in.k.data(), in.v.data(), in.n, table.data(), mask);
    }
    out_of_table<A><<<clearing, 256>>>(table.data(), size, ok.data(), os.data(), count.data());
  });
  result.right = in.right(ok.data(), os.data(), count.first());
  return result;
}

template peer_groups<sum_only> group_by_sort<sum_only>(const group_input&, int);
template peer_groups<sum_count> group_by_sort<sum_count>(const group_input&, int);
template peer_groups<statistics> group_by_sort<statistics>(const group_input&, int);
template peer_groups<sum_only> group_by_atomics<sum_only>(const group_input&, bool);
template peer_groups<sum_count> group_by_atomics<sum_count>(const group_input&, bool);
template peer_groups<statistics> group_by_atomics<statistics>(const group_input&, bool);

}  // namespace hashing_bench
