#include "gpu_engine/several/share_threads.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <optional>
#include <system_error>
#include <thread>

#include <query/detail/stop.hpp>

#include "planner/trace_memo.hpp"

namespace query::gpu_engine {

namespace {

// Looks again and again before it sleeps: a vertex has several things for its threads to do, a few microseconds apart, and to be woken
// takes fifty.
template <class Condition> bool soon(const Condition& holds) {
  constexpr std::chrono::microseconds spinning{100};
  for (const auto begin = std::chrono::steady_clock::now(); !holds();) {
    if (std::chrono::steady_clock::now() - begin > spinning) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace

// Has a task, or waits for one. One user at a time.
class share_threads::worker {
 public:
  worker() : thread_([this] { work(); }) {}
  ~worker() {
    change(state::ending);
    thread_.join();
  }

  void start(std::size_t i, const function_ref<void(std::size_t)>& task) {
    i_ = i;
    task_ = &task;
    change(state::busy);
  }
  void wait() {
    await([this] { return state_.load(std::memory_order_acquire) == state::idle; });
  }

 private:
  enum class state { idle, busy, ending };

  void work() {
    for (;;) {
      await([this] { return state_.load(std::memory_order_acquire) != state::idle; });
      if (state_.load(std::memory_order_relaxed) == state::ending) return;
      (*task_)(i_);
      change(state::idle);
    }
  }
  void change(state to) {
    {
      const std::lock_guard hold(lock_);
      state_.store(to, std::memory_order_release);
    }
    changed_.notify_one();  // at most one waits: the user or the thread
  }
  template <class Condition> void await(const Condition& holds) {
    if (soon(holds)) return;
    std::unique_lock hold(lock_);
    changed_.wait(hold, holds);
  }

  std::mutex lock_;
  std::condition_variable changed_;
  std::atomic<state> state_{state::idle};
  std::size_t i_ = 0;
  const function_ref<void(std::size_t)>* task_ = nullptr;
  std::thread thread_;  // last: it uses the others
};

share_threads::share_threads() = default;
share_threads::~share_threads() = default;

void share_threads::run(std::size_t n, function_ref<void(std::size_t)> given) {
  // They work for the caller's query: what waits in them looks at its stop, and functions that it has traced are not traced again. Each has
  // traces of its own, which tasks add to.
  const planner::trace_memo* const known = planner::trace_memo::here();
  std::vector<planner::trace_memo> traces(known && n > 1 ? n - 1 : 0);
  for (planner::trace_memo& t : traces) t = *known;
  const auto no_throw = [given, &traces, &stop = *detail::stop_here](std::size_t i) noexcept {
    const detail::stop_scope scope(stop);
    std::optional<planner::trace_memo::scope> traced;
    if (i && !traces.empty()) traced.emplace(traces[i - 1]);
    given(i);
  };
  const function_ref<void(std::size_t)> task = no_throw;
  std::vector<std::unique_ptr<worker>> mine;
  mine.reserve(n);
  {
    const std::lock_guard hold(lock_);
    while (mine.size() + 1 < n && !idle_.empty()) {
      mine.push_back(std::move(idle_.back()));
      idle_.pop_back();
    }
  }
  try {
    while (mine.size() + 1 < n) {
      mine.push_back(std::make_unique<worker>());
      const std::lock_guard hold(lock_);
      ++started_;
    }
  } catch (const std::system_error&) {
  }
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i]->start(i + 1, task);
  if (n) task(0);
  for (std::size_t i = mine.size() + 1; i < n; ++i) task(i);
  for (const auto& w : mine) w->wait();
  const std::lock_guard hold(lock_);
  for (auto& w : mine) idle_.push_back(std::move(w));
}

void share_threads::run_or_throw(std::size_t n, function_ref<void(std::size_t)> task) {
  std::vector<std::exception_ptr> failed(n);
  run(n, [&](std::size_t i) {
    try {
      task(i);
    } catch (...) {
      failed[i] = std::current_exception();
    }
  });
  for (const std::exception_ptr& e : failed)
    if (e) std::rethrow_exception(e);
}

std::size_t share_threads::started() const {
  const std::lock_guard hold(lock_);
  return started_;
}

}  // namespace query::gpu_engine
