// group_by whose keys are small numbers that lie beside the rows: one state a number, no hash table.
#include <algorithm>
#include <array>

#include "gpu_engine/device/labelled_sums.cuh"
#include "gpu_engine/operators/group_kernels.hpp"
#include "gpu_engine/operators/operators.hpp"

namespace query::gpu_engine {

namespace {

enum status : std::size_t { groups_word = 1 };

// Every block gives its share of each label's sum to global memory: few of them where there are many labels. But enough
// for all multiprocessors, of which each holds two. Measured on an H200, 2026-11-21.
constexpr std::uint32_t least_stretch = 1024;
std::uint32_t stretch_for(std::uint64_t n, std::uint64_t labels, std::uint64_t multiprocessors) {
  const std::uint64_t enough = multiprocessors * 9 / 5;
  std::uint32_t stretch = 4096;
  while (stretch < 32768 && stretch < 16 * labels && n / (2 * stretch) >= enough) stretch *= 2;
  while (stretch > least_stretch && n / stretch < enough) stretch /= 2;
  return stretch;
}

}  // namespace

std::optional<group_pairs> sum_labelled_groups(const group_kernels& g, const std::shared_ptr<const device_rows>& in,
                                               std::uint64_t labels, std::size_t bytes, vertex_run& run) {
  const std::uint64_t n = in->size();
  const device& on = run.gpu().on();
  std::uint32_t stretch = stretch_for(n, labels, static_cast<std::uint64_t>(on.multiprocessors()));
  const auto shared = [&] { return gpu::labelled_shared_bytes(static_cast<std::uint32_t>(labels), stretch); };
  const std::size_t room = on.shared_memory_per_block() - run.compile(g.source, "sum_labels")->static_shared;
  while (stretch > least_stretch && shared() > room) stretch /= 2;
  if (shared() > room) return std::nullopt;
  const device_buffer states = run.allocate(labels * g.aggregates.state_bytes),
                      counts_memory = run.allocate(labels * 4);
  group_pairs made{run.allocate(labels * bytes), 0, bytes};
  std::array<std::uint64_t, group_argument_count> args{};
  args[slots] = states.address();
  args[counts] = counts_memory.address();
  args[capacity] = labels;
  args[chunk] = stretch;
  args[group_count] = run.status_word(groups_word);
  args[out] = made.memory.address();
  args[out_capacity] = labels;
  const auto launch = [&](const char* entry, std::uint64_t blocks, unsigned threads, std::size_t shared = 0) {
    const std::array<const device_rows*, 1> inputs = {in.get()};
    run.launch(g.source, *run.compile(g.source, entry),
               {static_cast<unsigned>(std::max<std::uint64_t>(blocks, 1)), threads, shared}, inputs, args);
  };
  launch("init_labels", gpu::divide_up(labels, 64), 64);
  launch("sum_labels", gpu::divide_up(n, stretch), gpu::labelled_threads,
         shared());
  launch("emit_labels", gpu::divide_up(labels, 64), 64);
  run.finish(g.source);
  made.n = run.read(groups_word);
  return made;
}

}  // namespace query::gpu_engine
