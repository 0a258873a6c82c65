// The lock of one running graph: vertices wait here for rows or for room, and are told why they must not any longer.
//
// One lock for all edges makes it plain when nobody can go on: every living vertex waits, and none of the things that they wait for
// is there. Blocks are thousands of rows, so the lock is seldom wanted. No function of the user's runs under it.
//
//   std::unique_lock hold = run.hold();
//   run.wait(hold, seat, "rows of '", name, [&] { return !edge.empty(); });
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <string>
#include <vector>

#include <query/detail/function_ref.hpp>
#include <query/errors.hpp>

namespace query::runtime {

// What a port throws in a run that has failed: the vertex has to end, its own failure is not the reason.
struct run_stopped : cancelled {
  run_stopped() : cancelled("dataflow: the run was stopped") {}
};
// What a port throws when nobody is left to read what the vertex sends: it ends, as if it had returned.
struct readers_gone : cancelled {
  readers_gone() : cancelled("dataflow: all readers have returned") {}
};

// A vertex's place at the monitor.
struct seat {
  explicit seat(std::string vertex) : name(std::move(vertex)) {}
  const std::string name;
  // Guarded by the monitor:
  std::condition_variable wake;
  const function_ref<bool()>* awaited = nullptr;  // null: does not wait
  const char* what = nullptr;                     // it waits for: rows or room, of
  const function_ref<const std::string&()>* edge = nullptr;
  bool there = false;                             // what it waits for
};

class monitor {
 public:
  std::unique_lock<std::mutex> hold() { return std::unique_lock(lock_); }

  void add(seat& s) { seats_.push_back(&s); }  // before the run starts

  // Waits until ready(), which is called under the lock, by any thread, until it says yes. Throws run_stopped, and user_error
  // where two threads wait as one vertex.
  void wait(std::unique_lock<std::mutex>& held, seat& s, const char* what, function_ref<const std::string&()> edge,
            function_ref<bool()> ready);
  // Something changed that the vertex may wait for.
  static void wake(seat& s) {
    if (s.awaited) s.wake.notify_one();
  }

  // A vertex has returned, its ports are closed.
  void end();
  // Ends the run; the first reason stays.
  void fail(std::exception_ptr why);
  // For the supervisor: returns when all vertices have ended, the run has failed, somebody nudged or `until` is past.
  // True: nothing is left to supervise.
  template <class Clock> bool supervise(const std::chrono::time_point<Clock>* until) {
    std::unique_lock held(lock_);
    const auto awake = [&] { return nudged_ || failed_ || living() == 0; };
    if (!until) supervisor_.wait(held, awake);
    else supervisor_.wait_until(held, *until, awake);
    nudged_ = false;
    return failed_ || living() == 0;
  }
  void nudge() {
    const std::lock_guard held(lock_);
    nudged_ = true;
    supervisor_.notify_all();
  }
  std::exception_ptr failure() {
    const std::lock_guard held(lock_);
    return failed_;
  }

 private:
  std::size_t living() const { return seats_.size() - ended_; }
  void fail_held(std::exception_ptr why);
  void look_for_stall();

  std::mutex lock_;  // guards what follows, the seats and all edges
  std::condition_variable supervisor_;
  std::vector<seat*> seats_;
  std::size_t waiting_ = 0, ended_ = 0;
  std::exception_ptr failed_;
  bool nudged_ = false;
};

}  // namespace query::runtime
