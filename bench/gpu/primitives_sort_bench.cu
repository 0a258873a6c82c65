// Radix sort beside CUB's; part of primitives_bench.cu.
#include "primitives_sorts.cuh"

namespace query::gpu::bench {

void sorts();

namespace {

template <class Key, class Value>
void sort_default(const char* name, u64 n) {
  sort_ours<radix_policy<Key, Value>>(sort_data<Key, Value>(name, n), "ours");
}

}  // namespace

void sorts() {
  sort_default<u64, no_value>("sort_keys_u64", rows());
  sort_default<u32, no_value>("sort_keys_u32", rows());
  sort_default<u64, u32>("sort_pairs_u64_u32", rows() / 2);
  sort_default<u32, u32>("sort_pairs_u32_u32", rows());
}

}  // namespace query::gpu::bench
