// One thread of a session that tells its queries to stop: at their deadlines, and when stop tokens of the users' own kinds say so.
//
// Loops over user functions look at a flag only (query/detail/stop.hpp), so that a look costs a load; this thread reads the clock
// for them. It starts with the first query that needs it.
//
//   deadline_watch watch;
//   const auto watched = watch.follow(flag);   // until `watched` goes
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/cancellation.hpp"

namespace query::runtime {

class deadline_watch {
 public:
  deadline_watch() = default;
  deadline_watch(const deadline_watch&) = delete;
  deadline_watch& operator=(const deadline_watch&) = delete;
  ~deadline_watch();

  class watched {
   public:
    watched(deadline_watch& by, const cancel_flag& flag);
    ~watched();  // waits while the flag is being asked
    watched(const watched&) = delete;
    watched& operator=(const watched&) = delete;

   private:
    deadline_watch* by_;
    std::list<const cancel_flag*>::iterator at_;
  };
  // Null for a flag without deadline and without somebody to ask.
  std::unique_ptr<watched> follow(const cancel_flag& flag);

 private:
  void run();

  std::mutex lock_;  // guards what follows
  std::condition_variable changed_, answered_;
  std::list<const cancel_flag*> flags_;
  const cancel_flag* asked_ = nullptr;  // now, without the lock
  cancel_flag::clock::time_point wakes_ = cancel_flag::clock::time_point::max();
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace query::runtime
