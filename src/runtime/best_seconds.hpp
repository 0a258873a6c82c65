// How long work takes when nothing disturbs it.
//
//   rates.down = bytes / best_seconds(3, [&] { download(); });
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

namespace query::runtime {

// The best of so many runs, after one to warm up; where that took more than `long_enough` seconds, it alone.
template <class F> double best_seconds(int runs, F f, double long_enough = std::numeric_limits<double>::infinity()) {
  using clock = std::chrono::steady_clock;
  double best = 0;
  for (int i = -1; i < runs; ++i) {
    const auto begin = clock::now();
    f();
    const double s = std::chrono::duration<double>(clock::now() - begin).count();
    if (i < 1 || s < best) best = s;
    if (i < 0 && s > long_enough) break;
  }
  return std::max(best, 1e-9);
}

}  // namespace query::runtime
