// Where parallel work runs: every operator asks this interface for threads and knows nothing else about them.
//
// Implementations: tbb_scheduler (sessions), thread_pool (TSan, which does not understand TBB, and tests), serial_scheduler.
//
//   scheduler.for_each(morsels, [&](std::size_t i) { run(i); }, cancel);
#pragma once

#include <cstddef>

#include <query/detail/function_ref.hpp>

#include "runtime/cancellation.hpp"

namespace query::runtime {

class scheduler {
 public:
  virtual ~scheduler() = default;

  // Threads that for_each may use at once, the caller's included; at least 1.
  virtual int concurrency() const = 0;

  // Runs task(i) for each i in [0, n) once, on up to concurrency() threads, and returns when all have ended. Indices are
  // handed out in order. The first exception stops the handing out and is rethrown here; `cancel` is checked before each
  // task. Safe from several threads at once and inside other tasks; never waits for work other than its own.
  virtual void for_each(std::size_t n, function_ref<void(std::size_t)> task, const cancel_flag& cancel) = 0;
};

// Runs everything on the calling thread.
class serial_scheduler final : public scheduler {
 public:
  int concurrency() const override { return 1; }
  void for_each(std::size_t n, function_ref<void(std::size_t)> task, const cancel_flag& cancel) override {
    for (std::size_t i = 0; i < n; ++i) {
      cancel.check();
      task(i);
    }
  }
};

}  // namespace query::runtime
