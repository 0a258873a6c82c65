// Which vertices' kernels were compiled on this machine, so that the others are charged for it, and for how long they are.
//
// A vertex is known by its verbs and their places in the program: captures and constants do not change its kernels. One whose
// kernels are not there would be sent to the CPU for ever if compiling were charged in full each time. So what the CPU has cost
// more so far is held against it: once that reaches the price of compiling, it is paid (ski rental: at most twice the least).
//
//   known_kernels k;  k.keep_in(disk_cache(disk_cache::default_folder()));
//   const double to_compile = k.charged(shape, seconds_to_compile(w), cpu - gpu);   // when planned
//   k.ran(shape);                                                                   // on the device, to its end
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "gpu_engine/disk_cache.hpp"
#include "gpu_engine/placement/costs.hpp"
#include "planner/machine_graph.hpp"

namespace query::gpu_engine {

std::string shape_of(const planner::vertex& v);
std::string shape_of_fold(const planner::branch& b, detail::fold_kind kind);

double seconds_to_compile(const work& w);

// Thread-safe. Without keep_in() nothing is charged.
class known_kernels {
 public:
  void keep_in(disk_cache files, const std::string& device);
  // Seconds to add to the GPU's; `saved`: what each run there saves when all is compiled.
  double charged(const std::string& shape, double to_compile, double saved);
  void ran(const std::string& shape);

 private:
  std::optional<disk_cache> files_;
  std::string prefix_;
  std::mutex lock_;
  std::unordered_set<std::string> known_;
  std::unordered_map<std::string, double> lost_;  // seconds on the CPU that the GPU would have saved
};

}  // namespace query::gpu_engine
