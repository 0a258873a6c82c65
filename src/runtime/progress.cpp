#include "runtime/progress.hpp"

#include <chrono>
#include <system_error>

namespace query::runtime {

constinit thread_local double progress::next_share_ = 1;
constinit thread_local progress* progress::after_query = nullptr;

progress_beat::progress_beat(progress& meter, const cancel_flag& flag) {
  if (!meter) return;
  const auto run = [this, &meter, &flag] {
    constexpr std::chrono::milliseconds between{50};
    std::unique_lock hold(lock_);
    while (!ended_.wait_for(hold, between, [this] { return ends_; })) {
      hold.unlock();
      try {
        meter.repeat();
      } catch (...) {
        flag.fail(std::current_exception());
        return;
      }
      hold.lock();
    }
  };
  try {
    thread_ = std::thread(run);
  } catch (const std::system_error&) {  // no more threads: reports come with the parts alone
  }
}

progress_beat::~progress_beat() {
  {
    const std::lock_guard hold(lock_);
    ends_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace query::runtime
