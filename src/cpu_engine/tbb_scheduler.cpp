#include "cpu_engine/tbb_scheduler.hpp"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/task_loop.hpp"

namespace query::cpu {
namespace {

int hardware_threads() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

}  // namespace

// A thread from outside that finds no slot free waits inside TBB for one, maybe for ever: the threads in there may wait for what it
// holds, such as its turn to compute cached rows. So slots are kept for as many of them as the arena has threads, and one that comes
// when all of these are taken works alone.
struct tbb_scheduler::arena {
  explicit arena(int n) : threads(n), tasks(2 * n - 1, static_cast<unsigned>(n)) {
    // TBB starts no more threads than the hardware has unless told.
    if (n > hardware_threads())
      more.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(n));
  }
  const int threads;
  std::optional<tbb::global_control> more;
  tbb::task_arena tasks;
  std::atomic<int> visitors{0};
  static thread_local const arena* here;  // whose task this thread runs
};
thread_local const tbb_scheduler::arena* tbb_scheduler::arena::here = nullptr;

// A thread on its way into an arena.
class tbb_scheduler::visit {
 public:
  explicit visit(arena& a) : to_(a.here == &a ? nullptr : &a) {
    has_slot_ = !to_ || to_->visitors.fetch_add(1, std::memory_order_acquire) < to_->threads;
  }
  ~visit() {
    if (to_) to_->visitors.fetch_sub(1, std::memory_order_release);
  }
  visit(const visit&) = delete;
  visit& operator=(const visit&) = delete;
  bool has_slot() const { return has_slot_; }

 private:
  arena* to_;  // null: it is there already
  bool has_slot_;
};

// What the threads of one for_each do. oneTBB orders them, but Debian's does so where the thread sanitizer does not look; `order_` shows
// it that they begin after for_each and end before it returns, and no more than that: what two of them do at once is checked.
class tbb_scheduler::crew {
 public:
  crew(runtime::task_loop& loop, const arena& in) : loop_(loop), in_(in) { order_.store(1, std::memory_order_release); }
  void seen_by_sanitizer() { (void)order_.load(std::memory_order_acquire); }

  struct worker {
    crew* of;
    __attribute__((no_sanitize("thread"))) void operator()(int) const { of->work(); }  // reads `of` before that order begins
  };

 private:
  __attribute__((noinline)) void work() {
    seen_by_sanitizer();
    const arena* const before = std::exchange(arena::here, &in_);
    loop_.run();
    arena::here = before;
    order_.fetch_add(1, std::memory_order_release);
  }

  runtime::task_loop& loop_;
  const arena& in_;
  std::atomic<int> order_{0};
};

tbb_scheduler::tbb_scheduler(int threads)
    : arena_(std::make_unique<arena>(threads > 0 ? threads : hardware_threads())) {}
tbb_scheduler::~tbb_scheduler() = default;

int tbb_scheduler::concurrency() const { return arena_->threads; }

// One TBB task a thread, each of which takes indices until none are left. The wait is isolated: a thread that waits here
// must not pick up a morsel of another query, or of an outer for_each whose state it holds.
void tbb_scheduler::for_each(std::size_t n, function_ref<void(std::size_t)> task, const runtime::cancel_flag& cancel) {
  runtime::task_loop loop(n, task, cancel);
  const int workers = static_cast<int>(std::min(n, static_cast<std::size_t>(arena_->threads)));
  if (workers <= 1) {
    loop.run();
  } else if (const visit v(*arena_); !v.has_slot()) {
    loop.run();
  } else {
    crew all(loop, *arena_);
    arena_->tasks.execute([&] {
      tbb::this_task_arena::isolate([&] { tbb::parallel_for(0, workers, crew::worker{&all}, tbb::simple_partitioner()); });
    });
    all.seen_by_sanitizer();
  }
  loop.rethrow();
}

}  // namespace query::cpu
