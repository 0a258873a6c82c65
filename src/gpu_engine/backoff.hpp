// How a thread waits for the device: it polls, giving way to other threads, for results that are less than two milliseconds away (a
// sleep takes fifty microseconds more than was asked for), then with sleeps that grow to a fifth of a millisecond.
//
//   for (backoff b; !event.done(); b.pause()) cancel.check();
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace query::gpu_engine {

class backoff {
 public:
  using clock = std::chrono::steady_clock;

  void pause() {
    if (clock::now() - start_ < spinning) {
      std::this_thread::yield();
      return;
    }
    std::this_thread::sleep_for(sleep_);
    sleep_ = std::min(sleep_ * 2, longest_sleep);
  }
  double seconds() const { return std::chrono::duration<double>(clock::now() - start_).count(); }

 private:
  static constexpr std::chrono::microseconds spinning{2000}, longest_sleep{200};

  clock::time_point start_ = clock::now();
  std::chrono::microseconds sleep_{10};
};

}  // namespace query::gpu_engine
