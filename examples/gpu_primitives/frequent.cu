// A verb of one's own from the library's primitives: a hash table counts, and a compaction keeps what it finds often enough.
#include "frequent.hpp"

#include <stdexcept>

#include <gpu_primitives/compact.cuh>
#include <gpu_primitives/hash_table.cuh>

namespace {

using namespace query::gpu;
using keys = bitwise_keys<u32>;
using table = hash_table_ref<keys, u64>;      // slots begin with all bits set: a payload of c - 1 means a count of c
using policy = compact_policy<Trade>;

__device__ u32 key_of(const Trade& t) { return static_cast<u32>(t.symbol); }

__global__ void count_symbols(const Trade* rows, u64 n, table t, u64* full) {
  const keys k{};
  for (u64 i = blockIdx.x * u64(blockDim.x) + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    bool fresh = false;
    const u64 at = find_or_claim(t, k, key_of(rows[i]), k.hash(key_of(rows[i])), fresh);
    if (at == no_slot) {  // no place within longest_probe slots: the host takes a larger table
      *full = 1;
      return;
    }
    atomicAdd(&t.slots[at].payload, u64(1));
  }
}

__global__ void __launch_bounds__(policy::threads, policy::blocks)
    keep_counted(const Trade* rows, u64 n, table t, u64 least, void* temporary, const u64* full, Trade* out, u64* kept) {
  const keys k{};
  compact<policy, Trade>(
      *full ? 0 : n, temporary, kept,
      [&](u64 i, Trade& row) {
        row = rows[i];
        const u64 at = find_slot(t, k, key_of(row), k.hash(key_of(row)));
        return at != no_slot && t.slots[at].payload + 1 >= least;
      },
      [&](u64 at, const Trade& row) { out[at] = row; });
}

void check(cudaError_t result) {
  if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorString(result));
}

constexpr std::size_t counters = 128;  // what was found, before the temporary memory of the compaction

}  // namespace

frequent_memory frequent_memory_for(std::size_t n, std::uint32_t bits) {
  return {table_slots(bits) * sizeof(table::slot), counters + compact_temp_bytes<policy>(n)};
}

frequent_tables frequent_tables_for(std::size_t n) {
  // As hash_table.cuh has it: behind the last, more than longest_probe keys share the top bits of their hashes.
  return {table_bits(n / 64), table_bits(n) + 3};
}

void keep_frequent(const Trade* rows, std::size_t n, std::uint64_t least, std::uint32_t bits, void* slots, void* temporary, Trade* out,
                   frequent_found* found, void* on) {
  const auto stream = static_cast<cudaStream_t>(on);
  const frequent_memory bytes = frequent_memory_for(n, bits);
  int device = 0, multiprocessors = 0, blocks = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, keep_counted, policy::threads, 0));
  const u64 resident = u64(multiprocessors) * u64(blocks);

  check(cudaMemsetAsync(slots, 0xff, bytes.table, stream));
  check(cudaMemsetAsync(temporary, 0, bytes.temporary, stream));
  const table t{static_cast<table::slot*>(slots), bits};
  static_assert(sizeof(frequent_found) == 2 * sizeof(u64));
  u64* const kept = static_cast<u64*>(temporary);
  u64* const full = kept + 1;
  count_symbols<<<static_cast<unsigned>(resident), 256, 0, stream>>>(rows, n, t, full);
  check(cudaGetLastError());
  keep_counted<<<static_cast<unsigned>(compact_blocks<policy>(n, resident)), policy::threads, 0, stream>>>(
      rows, n, t, least, static_cast<char*>(temporary) + counters, full, out, kept);
  check(cudaGetLastError());
  check(cudaMemcpyAsync(found, temporary, sizeof *found, cudaMemcpyDeviceToHost, stream));
}
