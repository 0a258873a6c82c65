// An engine of the tests, as far from the CPU engine as can be: it runs in another process, asynchronously, fails now and
// then, and refuses opaque functions. It shows that runtime::engine has room for a second one.
//
//   auto engine = std::make_shared<process_engine>(process_engine::faults{.crash_every = 3});
//   session.add_engine(engine);
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "runtime/engine.hpp"

namespace engine_double {

class process_engine final : public query::runtime::engine {
 public:
  struct faults {
    int crash_every = 0;   // the worker exits in the middle of every n-th vertex; 0: never
    bool always = false;    // every vertex fails
    int delay_ms = 0;       // before each block of results
  };
  process_engine() : process_engine(faults{}) {}
  explicit process_engine(faults f);
  ~process_engine() override;

  std::string_view name() const override { return "process"; }
  query::runtime::verdict accepts(const query::planner::vertex& v) const override;
  std::unique_ptr<query::runtime::running_vertex> start(const query::planner::vertex& v,
                                                        std::span<query::runtime::input_port* const> inputs,
                                                        query::runtime::output_port& output, query::runtime::run_context& context) override;
  int retries() const override { return 1; }

  int started() const { return started_; }
  int completed() const { return completed_; }

 private:
  friend class remote_vertex;
  void ensure_worker();   // with lock_ held
  void stop_worker() noexcept;

  faults faults_;
  std::mutex lock_;       // one vertex at a time uses the worker
  int socket_ = -1;
  int worker_ = -1;
  std::atomic<int> started_{0}, completed_{0};
};

}  // namespace engine_double
