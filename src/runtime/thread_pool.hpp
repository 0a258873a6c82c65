// A scheduler of plain threads, for ThreadSanitizer (Debian's TBB gives false races) and as a test double.
//
//   thread_pool pool(4);
//   pool.for_each(100, [&](std::size_t i) { ... }, cancel);
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/scheduler.hpp"

namespace query::runtime {

class thread_pool final : public scheduler {
 public:
  explicit thread_pool(int threads);  // the calling thread counts as one of them; std::system_error where there are no more
  ~thread_pool() override;
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  int concurrency() const override { return static_cast<int>(threads_.size()) + 1; }
  void for_each(std::size_t n, function_ref<void(std::size_t)> task, const cancel_flag& cancel) override;

 private:
  struct job;
  void work();
  void close();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<job*> jobs_;  // newest last: nested jobs end first
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace query::runtime
