#include "runtime/unneeded_memory.hpp"

#include <utility>

namespace query::runtime {

// The object is never destroyed, because pools of static sessions may still use it at the end of the program. Its thread ends.
unneeded_memory& unneeded_memory::of_process() {
  static unneeded_memory& one = *new unneeded_memory;
  static const struct program_end {
    ~program_end() { one.end(); }
  } ended;
  return one;
}

void unneeded_memory::watch(std::weak_ptr<memory_keeper> k) {
  {
    const std::lock_guard hold(lock_);
    if (ends_) return;
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    keepers_.push_back(std::move(k));
  }
  changed_.notify_all();
}

void unneeded_memory::end() {
  {
    const std::lock_guard hold(lock_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void unneeded_memory::run() {
  std::unique_lock hold(lock_);
  while (true) {
    changed_.wait(hold, [this] { return ends_ || !keepers_.empty(); });
    if (changed_.wait_for(hold, a_while, [this] { return ends_; })) return;
    std::list<std::weak_ptr<memory_keeper>> asked = std::exchange(keepers_, {});
    hold.unlock();
    asked.remove_if([](const std::weak_ptr<memory_keeper>& k) {
      const std::shared_ptr<memory_keeper> there = k.lock();
      return !there || !there->give_back_unneeded();
    });
    hold.lock();
    keepers_.splice(keepers_.end(), asked);
  }
}

}  // namespace query::runtime
