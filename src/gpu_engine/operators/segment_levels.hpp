// The memory that rows side by side by group are folded in (gpu_primitives/segments.cuh), all of it before the first launch: a fold may
// write to what stays from block to block, and is then not done again with less.
//
//   segment_levels levels(run, rows, k.aggregates.state_bytes);
//   levels.fold(args, [&](const char* entry, std::uint64_t pieces) { ...launch... });
#pragma once

#include <vector>

#include "gpu_engine/operators/in_order_kernels.hpp"
#include "gpu_engine/vertex_run.hpp"

namespace query::gpu_engine::in_order {

class segment_levels {
 public:
  // Throws out_of_memory.
  segment_levels(vertex_run& run, std::uint64_t rows, std::size_t state_bytes) {
    for (std::uint64_t n = rows;; n = gpu::segment_states(n)) {
      const std::uint64_t states = gpu::segment_states(n);
      levels_.push_back({n, run.allocate(states * 8), run.allocate(states * state_bytes)});
      if (gpu::segment_pieces(n) <= 1) return;
    }
  }

  // launch(entry, items of work): fold_segments, then fold_level until one piece is left.
  template <class Launch> void fold(std::vector<std::uint64_t>& args, const Launch& launch) const {
    const level* before = nullptr;
    for (const level& to : levels_) {
      args[items] = to.items;
      args[marks_in] = before ? before->marks.address() : 0;
      args[states_in] = before ? before->states.address() : 0;
      args[marks_out] = to.marks.address();
      args[states_out] = to.states.address();
      launch(before ? "fold_level" : "fold_segments", gpu::segment_pieces(to.items));
      before = &to;
    }
  }

 private:
  struct level {
    std::uint64_t items;  // that go into it
    device_buffer marks, states;
  };
  std::vector<level> levels_;
};

}  // namespace query::gpu_engine::in_order
