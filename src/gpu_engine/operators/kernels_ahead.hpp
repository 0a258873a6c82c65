// Kernels that a query will ask for later, while those before them are made and run: programs of their own, which nobody waits for yet.
//
//   if (!known_or_begun(run, sample.source)) (void)known_or_begun(run, likely.source);
#pragma once

#include "gpu_engine/vertex_run.hpp"

namespace query::gpu_engine {

// True if a kernel of the program was asked for before in this process. Else all of them are being made, by threads of the cache where it
// has some.
inline bool known_or_begun(vertex_run& run, const kernel_source& k) {
  return run.gpu().kernels().get(k.text(), "", run.gpu().on(), k.functions()) != nullptr;
}

}  // namespace query::gpu_engine
