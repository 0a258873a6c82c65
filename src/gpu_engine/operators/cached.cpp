// cached(): the rows stay on the device. A column a field, so that later queries read only what they use.
#include "gpu_engine/cached_rows.hpp"
#include "gpu_engine/host_unpacking.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_engine/upload.hpp"

namespace query::gpu_engine {

void plan_cached(const planner::vertex& v) {
  const planner::branch& b = v.inputs.front();
  check_host_form(b.row);
  if (!b.stages.empty() || !b.prefilters.empty()) plan_collect_before(b);
}

namespace {

// Columns get a place for the rows whole, which functions that capture them will want. Ends of partitions lie beside whole rows alone.
result_rows with_room_for_whole(result_rows rows) {
  if (rows->whole() || rows->ends() || std::dynamic_pointer_cast<cached_rows>(rows)) return rows;
  return std::make_shared<cached_rows>(*rows);
}

}  // namespace

result_rows run_cached(const planner::vertex& v, vertex_run& run) {
  const planner::branch& b = v.inputs.front();
  // Row-wise work before it writes whole rows; a source is laid out as it is brought over.
  if (!b.stages.empty() || !b.prefilters.empty() || !b.source || !b.source->view)
    return with_room_for_whole(run_collect_before(b, run));
  detail::row_block rows;
  b.source->view(b.source->source.get(), rows);
  auto kept = upload_rows(run.shared_gpu(), rows, b.row, field_columns(b.row), run.on(), run.context());
  run.on().synchronize(run.context().cancel);
  return with_room_for_whole(std::move(kept));
}

}  // namespace query::gpu_engine
