#include "gpu_engine/repack.hpp"

#include <algorithm>

#include "gpu_engine/codegen/heap_functions.hpp"
#include "gpu_engine/launch.hpp"
#include "gpu_primitives/scan.cuh"

namespace query::gpu_engine {

namespace {

// What views more bytes is copied by a block, not by a thread: a list of all rows' strings would take one thread a second.
constexpr std::uint64_t large_value = 16384;

// Two kernels: the bytes before each value and of all, then the copies, `tile` values a block at a time.
std::string program(const ir::type* t) {
  kernel_source k;
  k.include("gpu_primitives/scan.cuh");
  const heap_functions f = generate_heap_functions(k, t);
  const std::string type = k.type_name(t);
  k.add("extern \"C\" __global__ void __launch_bounds__(scan_policy<u64>::threads, scan_policy<u64>::blocks) measure_heap(const " + type +
        "* values, u64 n, void* temp, u64* offsets) {\n  exclusive_scan<scan_policy<u64>, u64>(n, temp, u64(0), [&](u64 i) { return " +
        f.viewed +
        "(values[i]); },\n    [](u64 a, u64 b) { return a + b; }, [&](u64 i, u64 before) { offsets[i] = before; }, [&](u64 all) { "
        "offsets[n] = all; });\n}\n");
  k.add("extern \"C\" __global__ void __launch_bounds__(256) pack_heap(const " + type + "* values, u64 n, const u64* offsets, u8* heap, " +
        type + "* packed, u32 tile) {\n" + R"(  __shared__ u64 large[256];
  __shared__ u32 larges;
  for (u64 first = u64(blockIdx.x) * tile; first < n; first += u64(gridDim.x) * tile) {
    if (threadIdx.x == 0) larges = 0;
    __syncthreads();
    const u64 i = first + threadIdx.x;
    if (threadIdx.x < tile && i < n) {
      if (offsets[i + 1] - offsets[i] > )" + std::to_string(large_value) + R"() {
        large[atomicAdd(&larges, 1u)] = i;
      } else {
        )" + type + R"( v = values[i];
        u8* to = heap + offsets[i];
        )" + f.moved + R"((v, to);
        packed[i] = v;
      }
    }
    __syncthreads();
    for (u32 l = 0; l < larges; ++l) {
      )" + type + R"( v = values[large[l]];
      u8* to = heap + offsets[large[l]];
      )" + f.moved_by_block + R"((v, to);
      if (threadIdx.x == 0) packed[large[l]] = v;
    }
    __syncthreads();
  }
}
)");
  return k.text();
}

}  // namespace

repacked repack(gpu_session& gpu, const ir::type* t, device_address values, std::uint64_t n, const stream& s,
                runtime::run_context& context) {
  const std::string source = program(t);
  const auto measure = gpu.kernels().get(source, "measure_heap", gpu.on()), pack = gpu.kernels().get(source, "pack_heap", gpu.on());
  using scan = query::gpu::scan_policy<std::uint64_t>;
  const std::size_t temp_bytes = query::gpu::scan_temp_bytes<scan, std::uint64_t>(n);
  const device_buffer temp = gpu.memory().allocate(temp_bytes, s), offsets = gpu.memory().allocate((n + 1) * 8, s);
  {
    const scoped_context here(gpu.on());
    QUERY_CUDA(gpu.on().calls(), cuMemsetD8Async, temp.address(), 0, temp_bytes, s.handle());
    QUERY_CUDA(gpu.on().calls(), cuMemsetD8Async, offsets.address() + n * 8, 0, 8, s.handle());
  }
  launch(*measure,
         {static_cast<unsigned>(query::gpu::scan_blocks<scan>(n, resident_blocks(*measure, scan::threads))), scan::threads, 0}, s, values,
         n, temp.address(), offsets.address());
  repacked r;
  gpu.copies().download_plain(&r.heap_bytes, offsets.address() + n * 8, 8, s, context.scheduler, context.cancel);
  r.heap = gpu.memory().allocate(std::max<std::uint64_t>(r.heap_bytes, heap_alignment), s);
  r.values = gpu.memory().allocate(std::max<std::uint64_t>(n, 1) * device_layout(t).size, s);
  const auto most = std::uint64_t{resident_blocks(*pack, 256)} * 16, tile = std::clamp<std::uint64_t>(n / most, 1, 256);
  const auto blocks = std::min<std::uint64_t>(query::gpu::divide_up(n, tile), most);
  launch(*pack, {static_cast<unsigned>(blocks), 256, 0}, s, values, n, offsets.address(), r.heap.address(), r.values.address(),
         static_cast<std::uint32_t>(tile));
  r.made_by = pack;
  return r;
}

}  // namespace query::gpu_engine
