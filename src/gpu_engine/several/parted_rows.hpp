// Rows that lie on several devices, in parts: each device works on its own, and the rows are the parts' rows one after the
// other.
//
//   auto rows = std::make_shared<parted_rows>(row, std::move(parts));
//   context.tables[&v] = vertex_rows(rows);          // fetched over all buses at once, if the host reads them
#pragma once

#include <memory>
#include <vector>

#include "gpu_engine/device_rows.hpp"
#include "planner/machine_graph.hpp"

namespace query::gpu_engine {

// Rows of one type that own no memory. Immutable.
class parted_rows final : public runtime::kept_rows {
 public:
  parted_rows(const ir::type* row, std::vector<std::shared_ptr<device_rows>> parts);

  const std::vector<std::shared_ptr<device_rows>>& parts() const { return parts_; }

  // kept_rows
  std::string_view engine() const override { return "gpu"; }
  std::uint64_t size() const override { return n_; }
  detail::table fetch(runtime::run_context& context) override;

 private:
  const ir::type* row_;
  std::vector<std::shared_ptr<device_rows>> parts_;
  std::uint64_t n_ = 0;
};

// The rows as this device wants them: those that other devices have are copied over, or fetched where they do not fit. Rows in
// host memory stay there.
void bring_to(const std::shared_ptr<gpu_session>& gpu, runtime::vertex_rows& rows, runtime::run_context& context);
// The same for all that a vertex, or a branch with its captures, reads.
void bring_inputs(const std::shared_ptr<gpu_session>& gpu, const planner::branch& b, runtime::run_context& context);
void bring_captures(const std::shared_ptr<gpu_session>& gpu, const std::vector<planner::binding>& captures, runtime::run_context& context);

}  // namespace query::gpu_engine
