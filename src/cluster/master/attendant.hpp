// Attends to a query's other processes while the thread that leads it works on a task of its own: a process that was lost is replaced at
// once, one that does not answer is noticed, and the others get their next tasks.
//
//   attendant other([&] { inbox.wait(); }, [&] { hear(); });
//   {
//     const attendant::scope meanwhile(other);  // hear() is called by another thread until the scope ends, and by nobody else
//     work();
//     if (meanwhile.end()) ...                  // what hear() threw: it has not been called again
//   }
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace query::cluster {

class attendant {
 public:
  // `wait` returns soon, and sooner if there is something to attend to.
  attendant(std::function<void()> wait, std::function<void()> attend)
      : wait_(std::move(wait)), attend_(std::move(attend)), thread_([this] { run(); }) {}
  ~attendant() {
    {
      const std::lock_guard hold(lock_);
      over_ = true;
    }
    wakes_.notify_one();
    thread_.join();
  }
  attendant(const attendant&) = delete;
  attendant& operator=(const attendant&) = delete;

  // Null: nobody attends.
  class scope {
   public:
    explicit scope(attendant* a) : a_(a) {
      if (a_) a_->set(true);
    }
    ~scope() { leave(); }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
    std::exception_ptr end() {
      attendant* const a = a_;
      leave();
      return a ? std::exchange(a->error_, nullptr) : nullptr;
    }

   private:
    void leave() {
      if (attendant* const a = std::exchange(a_, nullptr)) a->set(false);
    }
    attendant* a_;
  };

 private:
  void set(bool busy) {
    {
      const std::lock_guard hold(lock_);
      busy_ = busy;
      if (busy) error_ = nullptr;
    }
    if (busy) wakes_.notify_one();
  }
  void run() {
    std::unique_lock hold(lock_);
    for (;;) {
      wakes_.wait(hold, [&] { return over_ || (busy_ && !error_); });
      if (over_) return;
      hold.unlock();
      wait_();
      hold.lock();
      if (!busy_) continue;
      try {
        attend_();
      } catch (...) {
        error_ = std::current_exception();
      }
    }
  }

  const std::function<void()> wait_, attend_;
  std::mutex lock_;  // held by whoever may touch what both threads do
  std::condition_variable wakes_;
  bool busy_ = false, over_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace query::cluster
