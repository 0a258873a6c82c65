// A thread that gives back to the system what pools keep for reuse and have not needed for a while. Neither does a query wait for that,
// nor do queries that run in a loop get new memory each time.
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
  // What has not been needed since the last call, but for a little. Returns whether there may be more later.
  virtual bool give_back_unneeded() noexcept = 0;
};

class unneeded_memory {
 public:
  static constexpr std::chrono::seconds a_while{1};  // between two looks at one that keeps much

  static unneeded_memory& of_process();
  // Until it keeps little, or is gone. Throws where there is no thread, or no memory.
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
