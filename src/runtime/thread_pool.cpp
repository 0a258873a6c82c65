#include "runtime/thread_pool.hpp"

#include <algorithm>

#include "runtime/task_loop.hpp"

namespace query::runtime {

// One for_each in progress. All members but the loop are guarded by the pool's mutex.
struct thread_pool::job {
  task_loop& loop;
  int wanted;   // workers that may still join in
  int running;  // workers inside
  std::condition_variable ended;
};

thread_pool::thread_pool(int threads) {
  try {
    for (int i = 1; i < threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (...) {  // the system has no more: those that there are end first
    close();
    throw;
  }
}

thread_pool::~thread_pool() { close(); }

void thread_pool::close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void thread_pool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto open = std::find_if(jobs_.rbegin(), jobs_.rend(), [](const job* j) { return j->wanted > 0; });
    if (open == jobs_.rend()) {
      if (closing_) return;
      wake_.wait(lock);
      continue;
    }
    job& j = **open;
    --j.wanted;
    ++j.running;
    lock.unlock();
    j.loop.run();
    lock.lock();
    if (--j.running == 0) j.ended.notify_all();  // under the lock: the job dies as soon as its owner has it
  }
}

// The caller does the work itself if nobody joins in, and waits only for workers inside this very job; these wait, if at
// all, for jobs that began later. Hence no cycle of waits, however deep the nesting.
void thread_pool::for_each(std::size_t n, function_ref<void(std::size_t)> task, const cancel_flag& cancel) {
  task_loop loop(n, task, cancel);
  if (n <= 1 || threads_.empty()) {
    loop.run();
    return loop.rethrow();
  }
  job j{loop, static_cast<int>(std::min(n - 1, threads_.size())), 0, {}};
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(&j);
  }
  wake_.notify_all();
  loop.run();
  {
    std::unique_lock lock(mutex_);
    jobs_.erase(std::find(jobs_.begin(), jobs_.end(), &j));
    j.ended.wait(lock, [&] { return j.running == 0; });
  }
  loop.rethrow();
}

}  // namespace query::runtime
