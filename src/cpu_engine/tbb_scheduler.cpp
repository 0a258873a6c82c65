#include "cpu_engine/tbb_scheduler.hpp"

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "runtime/task_loop.hpp"

namespace query::cpu {
namespace {

int hardware_threads() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

}  // namespace

struct tbb_scheduler::arena {
  explicit arena(int n) : threads(n), tasks(n) {
    // TBB starts no more threads than the hardware has unless told.
    if (n > hardware_threads())
      more.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(n));
  }
  const int threads;
  std::optional<tbb::global_control> more;
  tbb::task_arena tasks;
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
  } else {
    arena_->tasks.execute([&] {
      tbb::this_task_arena::isolate([&] {
        tbb::parallel_for(0, workers, [&](int) { loop.run(); }, tbb::simple_partitioner());
      });
    });
  }
  loop.rethrow();
}

}  // namespace query::cpu
