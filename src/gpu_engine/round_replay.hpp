// The rounds of a loop without the host: one round is watched (round_recording.hpp), those after it are the same launches
// again, as a CUDA graph where the driver has them, several rounds ahead of the host.
//
// The engine makes one for a loop all of whose vertices run on the GPU. Between the steps, kernels compare what the host
// read in the watched round with what is there now. Where something differs (a count of rows, an error, a table that is too
// small) they halt the loop before the variable is written; the executor then runs that round vertex by vertex. The variable
// lies in one place: at the end of each round its new rows are copied over the old.
//
//   round_replay repeats(gpu, context);
//   auto variable = repeats.watch(now);  ...one round...  auto done = repeats.repeat(next, nullptr, 18);
#pragma once

#include "gpu_engine/device_rows.hpp"
#include "gpu_engine/round_recording.hpp"
#include "runtime/engine.hpp"

namespace query::gpu_engine {

class round_replay final : public runtime::round_repeater {
 public:
  round_replay(std::shared_ptr<gpu_session> gpu, runtime::run_context& context) : gpu_(std::move(gpu)), context_(&context) {}

  std::optional<runtime::vertex_rows> watch(const runtime::vertex_rows& variable) override;
  void watched() override { watching_.reset(); }
  std::optional<outcome> repeat(const runtime::vertex_rows& next, const runtime::vertex_rows* answer, std::uint64_t most) override;
  std::string why_not() const override { return why_; }

 private:
  // Repeats rounds; `began`: what the watched round gave is no more.
  outcome rounds(const device_rows& after, const device_rows* test, std::uint64_t most, bool& began);
  // "": the rows that the watched round gave, and its condition's answer, are of a kind that repeated rounds give.
  std::string unlike(const device_rows* after, bool answered) const;
  std::shared_ptr<const device_rows> whole_here(const runtime::vertex_rows& r) const;

  std::shared_ptr<gpu_session> gpu_;
  runtime::run_context* context_;
  round_recording recording_;
  std::optional<round_recording::scope> watching_;
  std::shared_ptr<device_rows> variable_;
  int attempts_ = 0;
  std::string why_;
};

}  // namespace query::gpu_engine
