// One GPU against all of the same machine: sums, groups, joins, sorts, k-means and PageRank, of rows that lie on the devices and of rows in
// host memory. Beside each pair of times stands what links and memories would take for the bytes that must move.
//
//   gpu_devices [log2 by which there are fewer rows, 0] [what the names of cases hold, or ""] [rounds, 5] [cpu | trace]
//
// QUERY_GPUS names the devices (0,1), by default all; one that is named twice counts as two. `cpu` rehearses a few rows without a GPU:
// 12 is a good number then. `trace` shows what sums and groups ask of the driver. A line is printed as its case ends.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "gpu_devices/devices.hpp"
#include "gpu_engine/device.hpp"
#include "runtime/session_state.hpp"

int main(int argc, char** argv) {
  using namespace bench::devices;
  const int less = argc > 1 ? std::atoi(argv[1]) : 0, rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  const std::string only = argc > 2 ? argv[2] : "";
  const std::string_view how = argc > 4 ? argv[4] : "";
  try {
    std::vector<int> gpus = query::runtime::options_from_environment().gpus;
    for (int i = 0, n = gpus.empty() ? query::gpu_engine::device::count() : 0; i < n; ++i) gpus.push_back(i);
    if (how != "cpu") {
      const query::Session first({.gpus = gpus});
      if (!first.gpu_status().empty()) {
        std::printf("NO GPU, NOTHING IS MEASURED: %s\n(a rehearsal: gpu_devices 12 \"\" 1 cpu)\n", first.gpu_status().c_str());
        return 0;
      }
      if (gpus.size() < 2) {
        std::printf("ONE GPU, NOTHING IS COMPARED\n");
        return 0;
      }
    } else if (gpus.empty()) {
      gpus = {0};
    }
    if (how == "trace") {
      trace_calls(gpus, less);
      return 0;
    }
    machine m(gpus, how == "cpu", less, rounds, only);
    for (const auto part : {folds, groups, joins, sorts, loops}) {
      try {
        part(m);
      } catch (const std::exception& e) {  // no memory for the rows themselves
        std::printf("FAILED: %s\n", e.what());
        std::fflush(stdout);
      }
    }
    std::printf("cases that failed: %d\n", m.failed());
    return m.failed() ? 1 : 0;
  } catch (const std::exception& e) {
    std::printf("FAILED: %s\n", e.what());
    return 1;
  }
}
