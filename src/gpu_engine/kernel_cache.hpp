// From source text to a loaded function: compiled once a machine, loaded once a process and device.
//
// Between code generation and launch. A hit in memory costs a hash of the source; a hit on disk spares the compiler.
//
//   kernel_cache kernels({.headers = embedded_sources()});
//   auto k = kernels.get(source, "fold_rows", *device);   // extern "C" __global__ void fold_rows(...)
//   launch(*k, {.grid = 132, .block = 256}, s, arguments);
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_engine/device.hpp"
#include "gpu_engine/disk_cache.hpp"
#include "gpu_engine/linker.hpp"
#include "gpu_engine/nvrtc.hpp"
#include "runtime/engine_failure.hpp"

namespace query::gpu_engine {

struct kernel {
  function_handle function = nullptr;
  const device* on = nullptr;
  std::uint32_t registers = 0;       // a thread
  std::uint32_t static_shared = 0;   // bytes a block
  std::uint32_t local_bytes = 0;     // bytes a thread: spilled registers and arrays
  std::uint32_t max_threads = 0;     // a block
  hash128 key;                       // of its program: source, headers, options, compiler, linker if it is linked, architecture
  std::shared_ptr<const struct loaded_module> module;  // keeps the function loaded
};

struct kernel_cache_counters {
  std::uint64_t hits = 0;       // found in memory
  std::uint64_t disk_hits = 0;  // loaded from a file
  std::uint64_t compiled = 0;
  std::uint64_t evicted = 0;  // sources that made room for others
  double compile_seconds = 0;
};

// Where the CPU takes over from a kernel that is not there yet.
struct still_compiling : runtime::engine_failure {
  using runtime::engine_failure::engine_failure;
};
// This thread waits for kernels however long they take, if `demanded`: nothing else may run its query.
class waits_for_kernels {
 public:
  explicit waits_for_kernels(bool demanded) : before_(here_) { here_ = here_ || demanded; }
  ~waits_for_kernels() { here_ = before_; }
  waits_for_kernels(const waits_for_kernels&) = delete;
  waits_for_kernels& operator=(const waits_for_kernels&) = delete;
  static bool here() { return here_; }

 private:
  static inline thread_local bool here_ = false;
  bool before_;
};

// Thread-safe: threads that ask for one source at once compile it once.
class kernel_cache {
 public:
  struct settings {
    std::span<const named_source> headers = {};             // must outlive the cache
    std::vector<std::string> options = {};                  // for the compiler
    std::optional<std::string> folder = {};                 // of compiled code; "": none; nothing: disk_cache::default_folder()
    std::size_t folder_limit = disk_cache::default_limit;   // bytes
    // What compiles, for tests; by default compiler::find(), and resource_error with compiler::why_not() without one.
    std::function<compiled(std::string_view source, int compute_capability)> compile = {};
    // The same for sources that call device functions of the user's; by default link_program.
    std::function<compiled(std::string_view source, std::span<const device_code> functions, int compute_capability)> link = {};
    std::optional<int> link_version = {};  // of what links; nothing: linker::find()'s, 0 with a `link` of one's own. Tests.
    // Threads that make the other kernels of a program while its first one is made; nothing: one less than there are cores, none with a
    // `compile` of one's own. Tests.
    std::optional<unsigned> threads = {};
    // Seconds after the beginning of a compilation in which queries wait for it: then the CPU takes over, and it goes on for those to come.
    // Nothing: QUERY_GPU_PATIENCE's, or five; without an end with a `compile` of one's own. Tests.
    std::optional<double> patience = {};
    std::size_t programs = 1024;  // sources kept in memory for each device; of more, those not asked for longest leave, a quarter at a time
  };
  explicit kernel_cache(settings s);
  ~kernel_cache();
  kernel_cache(const kernel_cache&) = delete;
  kernel_cache& operator=(const kernel_cache&) = delete;

  // The function `entry` of the source, on a device. Kernels of one source are compiled and kept each for itself, at the same time: who
  // asks for one of a new source waits for that one only; no entry: begins all, waits for none, null unless one is there. It stays loaded
  // as long as the returned kernel at least. Throws internal_error if the source does not compile or has no such function,
  // resource_error without a compiler, still_compiling where it takes longer than `patience`, cancelled where the query that this thread
  // works for stops: threads of the cache's compile, so that who waits may leave, and what they make is there for the next. The source
  // of kernels that call `functions` says which, for the key.
  std::shared_ptr<const kernel> get(const std::string& source, const std::string& entry, const device& d,
                                    std::span<const device_code> functions = {});

  // Need a program with this key not be compiled, as it is in memory or in the folder?
  bool has(const hash128& key) const;

  kernel_cache_counters counters() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace query::gpu_engine
