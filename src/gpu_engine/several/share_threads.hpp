// Threads for the shares of vertices, kept from vertex to vertex: to start one, with a stack, a heap and the driver's notes of it,
// takes longer than a share of few groups.
//
//   threads.run(3, [&](std::size_t i) { ... });   // 0 on this thread, 1 and 2 on others, all at once
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include <query/detail/function_ref.hpp>

namespace query::gpu_engine {

// Thread-safe. Not used by any thread when it is destroyed.
class share_threads {
 public:
  share_threads();
  ~share_threads();
  share_threads(const share_threads&) = delete;
  share_threads& operator=(const share_threads&) = delete;

  // Calls task(i) for each i below n, each on a thread of its own, and returns when all have ended. They must not throw. Where the
  // system has no more threads the caller does what is left, one after the other.
  void run(std::size_t n, function_ref<void(std::size_t)> task);

  // The same of tasks that may throw: throws what the first of them did.
  void run_or_throw(std::size_t n, function_ref<void(std::size_t)> task);

  std::size_t started() const;  // threads so far

 private:
  class worker;
  mutable std::mutex lock_;
  std::vector<std::unique_ptr<worker>> idle_;
  std::size_t started_ = 0;
};

}  // namespace query::gpu_engine
