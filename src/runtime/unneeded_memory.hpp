// A thread that returns memory to the system if pools keep it for reuse and have not needed it for a while. No query waits for this, and
// queries that run in a loop still find the memory of the previous run.
//
//   class pool : public memory_keeper { ... };
//   unneeded_memory::of_process().watch(weak_from_this());
#pragma once

#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

namespace query::runtime {

class memory_keeper {
 public:
  virtual ~memory_keeper() = default;
  // Gives back nearly all memory that has not been needed since the last call. Returns whether there may be more later.
  virtual bool give_back_unneeded() noexcept = 0;
};

class unneeded_memory {
 public:
  static constexpr std::chrono::seconds a_while{1};  // between two calls of a keeper

  static unneeded_memory& of_process();
  // Calls the keeper again and again, until it returns false or no longer exists. Throws if the thread cannot start, or without memory.
  void watch(std::weak_ptr<memory_keeper> k);

 private:
  void run();
  void end();

  std::mutex lock_;  // guards what follows; not held while a keeper is asked
  std::condition_variable changed_;
  std::list<std::weak_ptr<memory_keeper>> keepers_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace query::runtime
