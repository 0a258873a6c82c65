// cached(): the rows stay on the device. A column a field, so that later queries read only what they use.
#include "gpu_engine/host_unpacking.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_engine/upload.hpp"

namespace query::gpu_engine {

void plan_cached(const planner::vertex& v) {
  const planner::branch& b = v.inputs.front();
  check_host_form(b.row);
  if (!b.stages.empty() || !b.prefilters.empty()) plan_collect_before(b);
}

result_rows run_cached(const planner::vertex& v, vertex_run& run) {
  const planner::branch& b = v.inputs.front();
  // Row-wise work before it writes whole rows; a source is laid out as it is brought over.
  if (!b.stages.empty() || !b.prefilters.empty() || !b.source || !b.source->view) return run_collect_before(b, run);
  detail::row_block rows;
  b.source->view(b.source->source.get(), rows);
  auto kept = upload_rows(run.shared_gpu(), rows, b.row, field_columns(b.row), run.on(), run.context());
  run.on().synchronize(run.context().cancel);
  return kept;
}

}  // namespace query::gpu_engine
