// NVIDIA's run-time compiler, loaded at run time: from CUDA C++ text to machine code, in memory, with no GPU needed.
//
// Between generated source and the kernel cache. About 10 ms for a kernel that includes little.
//
//   if (const compiler* c = compiler::find()) c->compile(source, embedded_sources(), 90, {}).cubin;
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_engine/named_source.hpp"

namespace query::gpu_engine {

struct compiled {
  std::vector<std::byte> cubin;  // what cuModuleLoadData takes: a cubin, or PTX where the compiler is older than the GPU; LTO-IR
  std::string log;               // warnings
  double seconds = 0;
};

// Thread-safe.
// A source that begins with this line may use what only its own architecture has (sm_90a: wgmma).
inline constexpr std::string_view architecture_specific = "// architecture-specific\n";
// Of one that begins with this line, floats need not be IEEE's: multiply-adds are fused, division, roots and functions of float are
// approximate, subnormal floats are zero.
inline constexpr std::string_view fast_math = "// fast math\n";
// Without it, products are rounded before they are added, as on the CPU. An option of all sources; fast math takes its place.
inline constexpr const char* separate_products = "--fmad=false";

class compiler {
 public:
  // Loaded once a process and kept: the library that QUERY_NVRTC names, or the first of libnvrtc.so.13, .12 and .so on the
  // loader's path and in $CUDA_HOME, $CUDA_PATH and /usr/local/cuda. Null if there is none.
  static const compiler* find();
  static const std::string& why_not();  // "" if there is one

  int version() const;  // 13000

  // Compiles C++20 device code for a compute capability (90 is sm_90). Sources include the `headers` by their names;
  // functions are found by name if declared extern "C". `options` are added to the command line. Throws internal_error
  // with the first 4,000 characters of the log if it does not compile; resource_error if the compiler itself fails.
  // Where QUERY_GPU_KEEP_SOURCE names a folder, each source is written there first. With the option link_later, the result is
  // LTO-IR, for linker.hpp.
  static constexpr const char* link_later = "-dlto";
  // With this one, it is PTX: for tests, which compile for GPUs that are not there in less time.
  static constexpr const char* to_ptx = "-ptx";
  compiled compile(std::string_view source, std::span<const named_source> headers, int compute_capability,
                   std::span<const std::string> options = {}) const;

 private:
  struct library;
  struct search;
  explicit compiler(const library& l) : library_(l) {}
  static const compiler* load(std::string& why);
  static const search& the_search();

  const library& library_;
};

}  // namespace query::gpu_engine
