// The hashed primitives under NVRTC, as the GPU engine compiles them: no standard headers, kernels instantiated. Needs no GPU; NVRTC is
// loaded at run time, so that the test program starts without it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace {

constexpr const char* kernels = R"(
#include "gpu_primitives/atomics.cuh"
#include "gpu_primitives/group_aggregate.cuh"
#include "gpu_primitives/distinct.cuh"
#include "gpu_primitives/hash_join.cuh"
using namespace query::gpu;

struct aggregates {
  struct State { double sum; u64 count; };
  struct Args { double v; };
  static __device__ void init(State& s) { s = State{0, 0}; }
  static __device__ void update(State& s, const Args& a) { s.sum += a.v; ++s.count; }
  static __device__ void merge(State& s, const State& o) { s.sum += o.sum; s.count += o.count; }
  static __device__ void update_atomic(State& s, const Args& a) { atomic_add(&s.sum, a.v); atomic_add(&s.count, u64(1)); }
  static __device__ void merge_atomic(State& s, const State& o) { atomic_add(&s.sum, o.sum); atomic_add(&s.count, o.count); }
};
// Counts alone: no arguments travel.
struct counting {
  struct State { u32 count; };
  struct Args {};
  static __device__ void init(State& s) { s.count = 0; }
  static __device__ void update(State& s, const Args&) { ++s.count; }
  static __device__ void merge(State& s, const State& o) { s.count += o.count; }
  static __device__ void update_atomic(State& s, const Args&) { atomic_add(&s.count, 1u); }
  static __device__ void merge_atomic(State& s, const State& o) { atomic_add(&s.count, o.count); }
};
struct rows {
  const u64* k;
  const double* v;
  __device__ bool operator()(u64 i, u64& key, aggregates::Args& a) const { key = k[i]; a.v = v[i]; return a.v > 0; }
  __device__ bool operator()(u64 i, u64& key, counting::Args&) const { key = k[i]; return true; }
  __device__ bool operator()(u64 i, u64& key, u64& payload) const { key = k[i]; payload = i; return true; }
  __device__ bool operator()(u64 i, u64& key) const { key = k[i]; return true; }
};
struct out {
  u64* k;
  u64* r;
  aggregates::State* s;
  __device__ void operator()(u64 at, const u64& key, const aggregates::State& state) const { k[at] = key; s[at] = state; }
  __device__ void operator()(u64 at, u64 row, const u64&, const aggregates::Args&, bool, const u64& b) const { k[at] = row; r[at] = b; }
  __device__ void operator()(u64 at, u64 p, u64 b) const { k[at] = p; r[at] = b; }
  __device__ void operator()(u32, u64) const {}
};
using keys = bitwise_keys<u64>;
#define SHARED extern __shared__ __align__(16) unsigned char shared[]

extern "C" __global__ void firsts(u64 n, hash_table_ref<keys, u64> t, u32* full, u8* present, u8* flags, u64* count, rows r) {
  first_rows(n, 0, t, full, keys{}, r);
  present_keys(n, t, present, keys{}, r);
  flag_rows(t, present, false, flags, count);
}
extern "C" __global__ void init(group_table<keys, aggregates> t) { init_groups<keys, aggregates>(t); }
extern "C" __global__ void global(group_rows g, group_table<keys, aggregates> t, tiles_again a, rows r) {
  aggregate_global<4>(g, t, a, keys{}, r);
}
extern "C" __global__ void by_thread(shared_group_params<keys, aggregates> p, rows r) {
  SHARED; aggregate_shared<group_copies::thread, 4>(p, keys{}, r, shared);
}
extern "C" __global__ void by_warp(shared_group_params<keys, aggregates> p, rows r) {
  SHARED; aggregate_shared<group_copies::warp, 4>(p, keys{}, r, shared);
}
extern "C" __global__ void by_block(shared_group_params<keys, aggregates> p, rows r) {
  SHARED; aggregate_shared<group_copies::block, 4>(p, keys{}, r, shared);
}
extern "C" __global__ void merge(group_rows g, group_table<keys, aggregates> t, tiles_again a, shared_partials<u64, aggregates::State> p) {
  merge_groups(g, t, a, keys{}, p);
}
extern "C" __global__ void grow(group_table<keys, aggregates> f, group_table<keys, aggregates> t, u32* full) {
  grow_groups<keys, aggregates>(f, t, full, keys{});
}
extern "C" __global__ void emit(group_table<keys, aggregates> t, u64* count, out o) { emit_groups<keys, aggregates>(t, count, o); }
extern "C" __global__ void count(u64 n, partition_places p, rows r) {
  SHARED; count_partitions<4, aggregates::Args>(n, p, keys{}, r, shared);
}
extern "C" __global__ void plan(partition_places p) { plan_partitions(p); }
extern "C" __global__ void scatter(u64 n, partition_places p, u64* k, aggregates::Args* a, rows r) {
  SHARED; scatter_partitions<4>(n, p, k, a, keys{}, r, shared);
}
extern "C" __global__ void parts(partition_group_params<keys, aggregates> p, scattered_rows<u64, aggregates::Args> r, out o) {
  SHARED; aggregate_partitions<4>(p, keys{}, r, o, shared);
}
extern "C" __global__ void scatter_keys(u64 n, partition_places p, u64* k, rows r) {
  SHARED;
  scatter_partitions<4, counting::Args>(n, p, k, nullptr, keys{}, r, shared);
}
struct counts_out {
  u64* k;
  u32* c;
  __device__ void operator()(u64 at, const u64& key, const counting::State& s) const { k[at] = key; c[at] = s.count; }
};
extern "C" __global__ void part_counts(partition_group_params<keys, counting> p, scattered_rows<u64, counting::Args> r, counts_out o) {
  SHARED;
  aggregate_partitions<4>(p, keys{}, r, o, shared);
}
extern "C" __global__ void thread_counts(shared_group_params<keys, counting> p, rows r) {
  SHARED;
  aggregate_shared<group_copies::thread, 4>(p, keys{}, r, shared);
}
extern "C" __global__ void probe_pipelined(u64 n, hash_table_ref<keys, u64> t, ordered_append a, rows r, out o) {
  probe_unique_pipelined<join_kind::left, 256, 4, aggregates::Args>(n, t, a, nullptr, keys{}, r, o);
}
extern "C" __global__ void build(u64 n, hash_table_ref<keys, u64> t, u32* repeated, rows r) { build_unique<4>(n, t, repeated, keys{}, r); }
extern "C" __global__ void probe(u64 n, hash_table_ref<keys, u64> t, ordered_append a, rows r, out o) {
  probe_unique<join_kind::inner, 4, aggregates::Args>(n, t, a, nullptr, keys{}, r, o);
}
extern "C" __global__ void map(u64 n, table_of_ids<keys> t, u32* g, rows r, out o) { map_keys(n, t, g, keys{}, r, o); }
extern "C" __global__ void lookup(u64 n, table_of_ids<keys> t, u32* g, rows r) { lookup_groups(n, t, g, nullptr, nullptr, keys{}, r); }
extern "C" __global__ void matches(match_source s, u64* e, u64* o) { count_matches<join_kind::left>(s, e, o); }
extern "C" __global__ void list(match_source s, const u64* e, const u64* o, match_entry* l) { list_matches<join_kind::left>(s, e, o, l); }
extern "C" __global__ void expand(u64 n, const match_entry* l, u64 e, const u64* b, out o) { expand_matches(n, l, e, b, o); }
)";

struct nvrtc {
  void* library = nullptr;
  nvrtc() {
    for (const char* name : {"libnvrtc.so.13", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"}) {
      library = dlopen(name, RTLD_NOW);
      if (library) break;
    }
  }
  template <class Function> Function* get(const char* name) const { return reinterpret_cast<Function*>(dlsym(library, name)); }
};

TEST(HashingNvrtc, compiles_every_kernel_body) {
  const nvrtc compiler;
  if (!compiler.library) GTEST_SKIP() << "no NVRTC on this machine";
  auto source = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path() / "src";
  if (!std::filesystem::exists(source / "gpu_primitives")) source = "src";
  if (!std::filesystem::exists(source / "gpu_primitives")) GTEST_SKIP() << "no source tree on this machine";
  using program = void*;
  const auto create =
      compiler.get<int(program*, const char*, const char*, int, const char* const*, const char* const*)>("nvrtcCreateProgram");
  const auto compile = compiler.get<int(program, int, const char* const*)>("nvrtcCompileProgram");
  const auto log_size = compiler.get<int(program, std::size_t*)>("nvrtcGetProgramLogSize");
  const auto get_log = compiler.get<int(program, char*)>("nvrtcGetProgramLog");
  const auto destroy = compiler.get<int(program*)>("nvrtcDestroyProgram");
  const std::string include = "-I" + source.string();
  for (const char* architecture : {"-arch=sm_80", "-arch=sm_90"}) {
    program p = nullptr;
    ASSERT_EQ(create(&p, kernels, "kernels.cu", 0, nullptr, nullptr), 0);
    const char* options[] = {"-std=c++20", architecture, include.c_str()};
    const int status = compile(p, 3, options);
    std::size_t size = 0;
    log_size(p, &size);
    std::string log(size + 1, '\0');
    get_log(p, log.data());
    destroy(&p);
    EXPECT_EQ(status, 0) << architecture << "\n" << log;
  }
}

}  // namespace
