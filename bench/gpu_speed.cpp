// The queries of the speed table of the GPU engine, one line each: the median of warm runs, the rate, and what the same machine
// reaches by plain copies in the same process. Whole queries, from the terminal verb on; rows lie on the device, a column a field, and
// results stay there, but for one row that is fetched, unless a line says otherwise. Answers are checked.
//
//   gpu_speed [log2 by which there are fewer rows, 0 by default] [how names of cases begin, or ""] [cpu | double]
//
// A rate counts each input byte that the query needs once, and each output byte once, as the limit does: a copy reads and writes. What is
// asked for ("must") is of an H200, and scaled by its copy rate. `cpu` and `double` rehearse without a GPU (gpu_speed/speed.hpp).
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string_view>

#include "gpu_engine/driver_double.hpp"
#include "gpu_speed/speed.hpp"

int main(int argc, char** argv) {
  using namespace bench::speed;
  using namespace query::gpu_engine;
  setenv("CUDA_CACHE_DISABLE", "1", 0);  // NVRTC keeps what it compiled in a folder of its own
  const int less = argc > 1 ? std::atoi(argv[1]) : 0;
  const std::string only = argc > 2 ? argv[2] : "", what = argc > 3 ? argv[3] : "";
  const rehearsal how = what == "cpu" ? rehearsal::cpu : what == "double" ? rehearsal::driver_double : rehearsal::none;
  std::optional<driver_double> fake;
  std::optional<device> pretended;
  const device* on = nullptr;
  if (how == rehearsal::none) {
    on = device::first();
    const std::string why = on ? compiler::find() ? "" : compiler::why_not() : device::why_not();
    if (!why.empty()) {
      std::printf("NO GPU, NOTHING IS MEASURED: %s\n(rehearsals: gpu_speed 10 \"\" cpu, gpu_speed 14 \"\" double)\n", why.c_str());
      return 0;
    }
  } else if (how == rehearsal::driver_double) {
    if (!compiler::find()) {
      std::printf("NO COMPILER OF KERNELS: %s\n", compiler::why_not().c_str());
      return 0;
    }
    fake.emplace();
    fake->allow_unknown_kernels();
    on = &pretended.emplace(fake->calls(), 0);
  }
  try {
    const machine m(on, how, less, only);
    int failed = 0;
    for (const auto run :
         {resident_rows, groups, block_groups, joins_and_sorts, record_sorts, first_of_order, new_queries, peak_memory, host_rows}) {
      try {
        run(m);
      } catch (const std::exception& e) {
        ++failed;
        std::printf("FAILED: %s\n", e.what());
      }
    }
    std::printf("missed: %d; wrong answers: %d; parts that failed: %d\n", m.missed(), m.wrong(), failed);
    return m.wrong() || failed ? 1 : 0;
  } catch (const std::exception& e) {
    std::printf("FAILED: %s\n", e.what());
    return 1;
  }
}
