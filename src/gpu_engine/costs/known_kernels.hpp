// Which vertices' kernels are compiled on this machine, and what the others would cost.
//
// A vertex is known by the sources that are generated while it is planned: constants and captures are not in them, what changes
// code is. Which programs such a vertex runs is remembered when it has run (a group_by generates some only when it has seen its
// keys), beside the compiled kernels; whether those are still there the kernel cache says, in memory or on disk.
//
//   known_kernels k;  k.keep_in(disk_cache(disk_cache::default_folder()), "NVIDIA H200", cache);
//   kernel_source::witness seen;  ...plan...;  k.planned(&vertex, seen.seen());
//   const double to_compile = k.missing(&vertex, seconds_to_compile(w)).seconds;
//   k.ran(&vertex, run.compiled());                                                   // on the device, to its end
#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "gpu_engine/disk_cache.hpp"
#include "gpu_engine/kernel_cache.hpp"
#include "gpu_engine/costs/rates.hpp"
#include "runtime/placement/cost_model.hpp"

namespace query::gpu_engine {

double seconds_to_compile(const work& w);

// Thread-safe. Without keep_in() nothing is missing. What is planned is named by its address in the plan.
class known_kernels {
 public:
  void keep_in(disk_cache files, const std::string& device, const kernel_cache& compiled);
  void planned(const void* what, const std::string& sources);
  // `all`: seconds for all of its programs. Of programs that are known and some of which are missing, these count.
  runtime::missing_code missing(const void* what, double all);
  void ran(const void* what, std::span<const hash128> programs);

 private:
  std::optional<std::vector<hash128>> programs_of(const std::string& sources);

  std::optional<disk_cache> files_;
  const kernel_cache* compiled_ = nullptr;
  std::string prefix_;
  std::mutex lock_;
  std::unordered_map<const void*, std::string> planned_;  // sources, of the plan at this address now
  std::unordered_map<std::string, std::vector<hash128>> known_;
};

}  // namespace query::gpu_engine
