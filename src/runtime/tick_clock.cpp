#include "runtime/tick_clock.hpp"

#include <chrono>
#include <thread>

namespace query::runtime {

namespace {

using clock = std::chrono::steady_clock;

const struct both_clocks {
  clock::time_point time = clock::now();
  std::uint64_t tick = ticks();
} program_begin;

}  // namespace

double seconds_a_tick() {
  while (clock::now() - program_begin.time < std::chrono::milliseconds(1)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const both_clocks now;
  return std::chrono::duration<double>(now.time - program_begin.time).count() / static_cast<double>(now.tick - program_begin.tick);
}

}  // namespace query::runtime
