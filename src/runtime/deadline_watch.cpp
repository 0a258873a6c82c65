#include "runtime/deadline_watch.hpp"

#include <algorithm>

namespace query::runtime {

deadline_watch::~deadline_watch() {
  {
    const std::lock_guard hold(lock_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::unique_ptr<deadline_watch::watched> deadline_watch::follow(const cancel_flag& flag) {
  if (!flag.next_question(cancel_flag::clock::now())) return nullptr;
  return std::make_unique<watched>(*this, flag);
}

deadline_watch::watched::watched(deadline_watch& by, const cancel_flag& flag) : by_(&by) {
  const std::lock_guard hold(by.lock_);
  if (!by.thread_.joinable()) by.thread_ = std::thread([w = &by] { w->run(); });  // first: it may not start
  at_ = by.flags_.insert(by.flags_.end(), &flag);
  if (flag.next_question(cancel_flag::clock::now()) < by.wakes_) by.changed_.notify_all();
}
deadline_watch::watched::~watched() {
  std::unique_lock hold(by_->lock_);
  by_->answered_.wait(hold, [&] { return by_->asked_ != *at_; });
  by_->flags_.erase(at_);
}

// The user's tokens are asked without the lock: one may wait for a thread whose own query begins or ends meanwhile.
void deadline_watch::run() {
  std::unique_lock hold(lock_);
  while (!ends_) {
    const auto now = cancel_flag::clock::now();
    wakes_ = cancel_flag::clock::time_point::max();
    for (const cancel_flag* f : flags_) {
      asked_ = f;  // stays in the list until it has answered
      hold.unlock();
      const bool stopped = f->stopped();
      hold.lock();
      asked_ = nullptr;
      answered_.notify_all();
      if (stopped) continue;
      if (const auto next = f->next_question(now)) wakes_ = std::min(wakes_, *next);
    }
    if (ends_) return;
    // Whoever is the first to want an earlier look notifies; there is no time to wait for until then.
    if (wakes_ == cancel_flag::clock::time_point::max()) changed_.wait(hold);
    else changed_.wait_until(hold, wakes_);
  }
}

}  // namespace query::runtime
