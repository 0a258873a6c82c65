// The scheduler of sessions: a oneTBB arena of the session's size.
//
//   tbb_scheduler scheduler(8);
//   scheduler.for_each(morsels, [&](std::size_t i) { ... }, cancel);
#pragma once

#include <cstddef>
#include <memory>

#include "runtime/scheduler.hpp"

namespace query::cpu {

class tbb_scheduler final : public runtime::scheduler {
 public:
  explicit tbb_scheduler(int threads = 0);  // 0: one a hardware thread
  ~tbb_scheduler() override;

  int concurrency() const override;
  void for_each(std::size_t n, function_ref<void(std::size_t)> task, const runtime::cancel_flag& cancel) override;

 private:
  struct arena;
  class visit;
  class crew;
  std::unique_ptr<arena> arena_;
};

}  // namespace query::cpu
