#include "gpu_engine/launch.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include <query/errors.hpp>

namespace query::gpu_engine {
namespace {

constexpr std::size_t shared_without_asking = 48 * 1024;  // static and dynamic together; more must be opted in to

void opt_in(const kernel& k, std::size_t dynamic_shared) {
  if (k.static_shared + dynamic_shared <= shared_without_asking) return;
  if (k.static_shared + dynamic_shared > k.on->shared_memory_per_block())
    throw internal_error("gpu: launch: more shared memory than a block may have: " + std::to_string(k.static_shared + dynamic_shared) +
                         " of " + std::to_string(k.on->shared_memory_per_block()) + " bytes");
  // All there is, not what this launch needs: threads that launch one kernel with different needs then ask for the same.
  const auto most = static_cast<int>(k.on->shared_memory_per_block() - k.static_shared);
  QUERY_CUDA(k.on->calls(), cuFuncSetAttribute, k.function, cuda_attribute::function_max_dynamic_shared, most);
}

}  // namespace

void launch_with(const kernel& k, launch_shape shape, const stream& s, void** arguments) {
  if (shape.grid == 0) return;
  if (shape.block > k.max_threads)
    throw internal_error("gpu: launch: more threads a block than the kernel runs with: " + std::to_string(shape.block) + " of " +
                         std::to_string(k.max_threads) + " (it uses " + std::to_string(k.registers) + " registers)");
  const scoped_context here(*k.on);
  opt_in(k, shape.dynamic_shared);
  QUERY_CUDA(k.on->calls(), cuLaunchKernel, k.function, shape.grid, 1, 1, shape.block, 1, 1, static_cast<unsigned>(shape.dynamic_shared),
             s.handle(), arguments, nullptr);
}

unsigned resident_blocks(const kernel& k, unsigned block, std::size_t dynamic_shared) {
  const scoped_context here(*k.on);
  opt_in(k, dynamic_shared);
  int blocks = 0;
  QUERY_CUDA(k.on->calls(), cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, k.function, static_cast<int>(block), dynamic_shared);
  return static_cast<unsigned>(std::max(1, blocks) * std::max(1, k.on->multiprocessors()));
}

unsigned blocks_for(std::size_t n, unsigned block) {
  const std::size_t blocks = n / block + (n % block != 0 ? 1 : 0);
  if (blocks > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw internal_error("gpu: launch: more blocks than a grid has: " + std::to_string(blocks));
  return static_cast<unsigned>(blocks);
}

}  // namespace query::gpu_engine
