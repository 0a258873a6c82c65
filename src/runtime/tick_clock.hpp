// The processor's own clock, at a fraction of the price of the system's: what is read for each vertex and each task.
//
//   const std::uint64_t begin = ticks();
//   const double passed = static_cast<double>(ticks() - begin) * seconds_a_tick();
#pragma once

#include <cstdint>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <chrono>
#endif

namespace query::runtime {

inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t t;
  asm volatile("mrs %0, cntvct_el0" : "=r"(t));
  return t;
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

// From the time that the program has run so far by both clocks; waits until that is a millisecond.
double seconds_a_tick();

}  // namespace query::runtime
