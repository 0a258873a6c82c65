// The heart of every scheduler: hands out the indices of one for_each in order and keeps the exception of the lowest one.
//
// That is the same exception however many threads there are and whoever is faster: lower indices have been handed out by then, and run
// to their end.
//
// A worker calls run() and comes back when nothing is left to hand out. Exceptions never leave run(): they would otherwise
// pass through a scheduler that has its own idea of them.
//
//   task_loop loop(n, task, cancel);
//   /* on each thread */ loop.run();
//   loop.rethrow();   // after all threads have left
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>

#include <query/detail/division_watch.hpp>

#include "runtime/scheduler.hpp"

namespace query::runtime {

class task_loop {
 public:
  task_loop(std::size_t n, function_ref<void(std::size_t)> task, const cancel_flag& cancel)
      : n_(n), task_(task), cancel_(cancel) {}

  void run() noexcept {
    const detail::stop_scope scope(cancel_.state());
    std::size_t i = 0;
    try {
      while (!failed_.load(std::memory_order_relaxed)) {
        i = next_.fetch_add(1, std::memory_order_relaxed);
        if (i >= n_) return;
        cancel_.check();
        const detail::division_watch watch;
        task_(i);
        watch.check();
      }
    } catch (...) {
      failed_.store(true, std::memory_order_relaxed);
      const std::lock_guard hold(lock_);
      if (error_ && failed_at_ < i) return;
      error_ = std::current_exception();
      failed_at_ = i;
    }
  }

  // Call when every thread has left run() and that is known through a lock or a join.
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const std::size_t n_;
  const function_ref<void(std::size_t)> task_;
  const cancel_flag& cancel_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex lock_;
  std::exception_ptr error_;
  std::size_t failed_at_ = 0;
};

}  // namespace query::runtime
