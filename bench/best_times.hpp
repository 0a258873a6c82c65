// A question's line for bench/windows, asof, sketches and reshaping: the best of three times, and a sum by which answers are compared.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>

namespace bench {

inline double processor_ms() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

template <class Q> void answer(const char* name, const Q& q) {
  double ms = 1e9, processor = 1e9;
  for (int round = 0; round < 3; ++round) {
    const double begun = processor_ms();
    const auto begin = std::chrono::steady_clock::now();
    const auto columns = q.to_columns();
    ms = std::min(ms, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    processor = std::min(processor, processor_ms() - begun);
  }
  std::printf("%-24s %8.0f ms, processor %8.0f ms, sum %.3f\n", name, ms, processor, q.sum([](auto r) { return r.sum; }));
}

}  // namespace bench
