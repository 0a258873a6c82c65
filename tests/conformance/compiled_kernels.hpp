// An engine 'gpu' without a GPU: it plans as the real one does, generates every kernel that a vertex asks for, runs the vertex on the
// driver double, where kernels do nothing, throws that result away, and hands on the CPU's rows as rows that lie on the device. So the
// suite's own queries, with all their types, keys and shapes, say which kernels there are and which vertices are left to the CPU; NVRTC
// compiles each text, once.
//
//   compiled_kernels here;
//   Session s({.threads = 4}); s.state()->take_gpu(here.engine());
//   ...
//   for (const std::string& why : here.compile_new()) ADD_FAILURE() << why;
#pragma once

#include <array>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine.hpp"

namespace conformance {

struct engine_config;
// False for the sessions of such an engine: their results are the CPU's, whatever the kernels would give.
bool computes(const engine_config& e);

class compiled_kernels {
 public:
  compiled_kernels();
  ~compiled_kernels();

  std::shared_ptr<query::runtime::engine> engine();

  // The oldest GPUs that the library takes, Hopper and Blackwell.
  static constexpr std::array<int, 3> capabilities = {80, 90, 120};

  // Compiles the texts that are new, each for one of these, as PTX: what NVRTC says of those that it refuses. What differs between them
  // are the primitives, which many texts have in common. Without NVRTC, nothing. Where QUERY_COMPILED_KERNELS names a folder, it holds
  // which have compiled before, as suites run in processes of their own.
  std::vector<std::string> compile_new();
  // Says whether this text compiles for these.
  static std::string refusal_of(const std::string& text, std::span<const int> for_these = capabilities);
  std::size_t texts() const;  // so far

  // Tables that the GPU's engine read since the last call though nobody had made them.
  std::vector<std::string> missing_tables();

  // What was planned for the CPU since the last call though it was marked with as_accelerated(): "verb: reason".
  std::set<std::string> left_to_the_cpu();

 private:
  class answering;
  struct state;
  std::unique_ptr<state> state_;
};

// The one of this process.
compiled_kernels& kernels_here();

}  // namespace conformance
