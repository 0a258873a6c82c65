// The thread of query/detail/discard.hpp.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <query/detail/discard.hpp>

namespace query::detail {

namespace {

// The query that stopped gives large buffers back meanwhile: in such a call, malloc merges all small pieces that others have freed.
constexpr std::chrono::milliseconds until_the_query_is_gone(30);

class discarded_rows_thread {
 public:
  // The object stays, as static sessions made before it hand rows in while the program ends; its thread goes then.
  static discarded_rows_thread& of_process() {
    static discarded_rows_thread& one = *new discarded_rows_thread;
    static const struct program_end {
      ~program_end() { one.end(); }
    } ended;
    return one;
  }

  // Rows without a thread wait for the next ones: destroyed here, they might be handed in again.
  void add(std::shared_ptr<void> rows) {
    const std::lock_guard hold(lock_);
    left_.push_back(std::move(rows));
    if (ends_) return;
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock hold(lock_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(hold, [this] { return ends_ || !thread_.joinable() || (left_.empty() && !at_work_); });
    --waiting_;
  }

 private:
  void end() {
    {
      const std::lock_guard hold(lock_);
      ends_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  void run() {
    std::unique_lock hold(lock_);
    while (true) {
      changed_.wait(hold, [this] { return ends_ || !left_.empty(); });
      if (left_.empty()) return;
      changed_.wait_for(hold, until_the_query_is_gone, [this] { return ends_ || waiting_ > 0; });
      std::vector<std::shared_ptr<void>> now = std::move(left_);
      left_.clear();
      at_work_ = true;
      hold.unlock();
      now.clear();
      hold.lock();
      at_work_ = false;
      changed_.notify_all();
    }
  }

  std::mutex lock_;  // guards what follows
  std::condition_variable changed_;
  std::vector<std::shared_ptr<void>> left_;
  bool at_work_ = false, ends_ = false;
  int waiting_ = 0;
  std::thread thread_;
};

}  // namespace

void discard(std::shared_ptr<void> rows) noexcept {
  try {
    discarded_rows_thread::of_process().add(std::move(rows));
  } catch (const std::exception&) {  // no thread, or no memory
  }
}
void wait_for_discarded() { discarded_rows_thread::of_process().wait(); }

}  // namespace query::detail
