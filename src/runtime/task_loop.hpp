// The heart of every scheduler: hands out the indices of one for_each in order and keeps the first exception.
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

#include "runtime/scheduler.hpp"

namespace query::runtime {

class task_loop {
 public:
  task_loop(std::size_t n, function_ref<void(std::size_t)> task, const cancel_flag& cancel)
      : n_(n), task_(task), cancel_(cancel) {}

  void run() noexcept {
    const detail::stop_scope scope(cancel_.state());
    try {
      while (!failed_.load(std::memory_order_relaxed)) {
        const std::size_t i = next_.fetch_add(1, std::memory_order_relaxed);
        if (i >= n_) return;
        cancel_.check();
        task_(i);
      }
    } catch (...) {
      // The first thread in owns error_; the others only see that somebody failed.
      if (!failed_.exchange(true, std::memory_order_relaxed)) error_ = std::current_exception();
    }
  }

  bool exhausted() const { return failed_.load(std::memory_order_relaxed) || next_.load(std::memory_order_relaxed) >= n_; }

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
  std::exception_ptr error_;
};

}  // namespace query::runtime
