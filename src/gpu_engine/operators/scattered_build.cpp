#include "gpu_engine/operators/scattered_build.hpp"

#include <algorithm>

#include "gpu_primitives/group_partition.cuh"
#include "gpu_primitives/join_unique.cuh"

namespace query::gpu_engine {

namespace {

std::size_t shared_to_count(std::uint32_t parts) { return std::size_t{4} << parts; }
std::size_t shared_to_scatter(const join_kernels& k, std::uint32_t parts) {
  return gpu::scatter_bytes(parts, scatter_threads * scatter_items, static_cast<std::uint32_t>(k.key_bytes),
                            static_cast<std::uint32_t>(k.payload_bytes));
}

}  // namespace

std::uint32_t scattered_parts(const join_kernels& unique, std::uint32_t table_bits, vertex_run& run) {
  if ((unique.key_bytes != 4 && unique.key_bytes != 8) || (unique.slot_bytes << table_bits) < least_scattered_table) return 0;
  const std::uint32_t parts = gpu::join_scatter_bits(table_bits, static_cast<std::uint32_t>(unique.slot_bytes));
  constexpr std::size_t own = 1024;  // static shared memory of the kernel
  return shared_to_scatter(unique, parts) + own <= run.gpu().on().shared_memory_per_block() ? parts : 0;
}

bool build_scattered(const join_kernels& scattered, std::uint32_t parts, std::span<const device_rows* const> inputs, join_arguments& args,
                     vertex_run& run) {
  const std::uint64_t n = inputs[1]->size(), places = std::uint64_t{1} << parts;
  if (n * (scattered.key_bytes + scattered.payload_bytes) > run.gpu().memory().available() / 2) return false;
  device_buffer keys, payloads, counts, starts, cursors, items;
  try {
    keys = run.allocate(n * scattered.key_bytes);
    payloads = run.allocate(n * scattered.payload_bytes);
    counts = run.zeroed(places * 8);
    starts = run.allocate((places + 1) * 8);
    cursors = run.allocate(places * 8);
    items = run.allocate((places + 1) * 8);
  } catch (const out_of_memory&) {
    return false;
  }
  args[join_place_bits] = parts;
  args[join_part_counts] = counts.address();
  args[join_part_starts] = starts.address();
  args[join_part_cursors] = cursors.address();
  args[join_part_items] = items.address();
  args[join_scattered_keys] = keys.address();
  args[join_scattered_payloads] = payloads.address();
  const auto launch = [&](const char* entry, unsigned block, std::size_t shared, std::uint64_t most) {
    const auto f = run.compile(scattered.source, entry);
    const unsigned grid = static_cast<unsigned>(std::min<std::uint64_t>(most, resident_blocks(*f, block, shared)));
    run.launch(scattered.source, *f, {grid, block, shared}, inputs, args);
  };
  launch("count_rows", 512, shared_to_count(parts), gpu::divide_up(n, 512 * 8));
  launch("plan_rows", 1024, 0, 1);
  launch("scatter_rows", scatter_threads, shared_to_scatter(scattered, parts), gpu::divide_up(n, scatter_threads * scatter_items));
  // A block a tile, not a grid that goes through all tiles: what is written at one time lies closer together.
  const std::uint64_t tiles = std::min<std::uint64_t>(gpu::divide_up(n, 256 * scattered_build_items), 0x7fffffff);
  run.launch(scattered.source, *run.compile(scattered.source, "build_scattered"), {static_cast<unsigned>(tiles), 256, 0}, inputs, args);
  return true;
}

}  // namespace query::gpu_engine
