#include "gpu_engine/out_of_core/parted_rows.hpp"

#include <algorithm>
#include <cstring>

#include "gpu_engine/operators/operators.hpp"

namespace query::gpu_engine {

host_block side_by_side(const host_partitions& rows, std::uint32_t first, std::uint32_t end, const ir::type* row,
                        runtime::run_context& context) {
  host_block b;
  b.part = first;
  std::vector<host_partitions::piece> pieces;
  for (std::uint32_t part = first; part < end; ++part) {
    b.rows.n += rows.size(part);
    const auto of_part = rows.rows_of(part);
    pieces.insert(pieces.end(), of_part.begin(), of_part.end());
  }
  if (pieces.size() == 1) {
    b.rows.rows = const_cast<void*>(pieces.front().rows);
    return b;
  }
  auto memory = std::make_shared<runtime::buffer>(
      context.pool.allocate(runtime::buffer_pool::checked_bytes(std::max<std::size_t>(b.rows.n, 1), row->size)));
  std::vector<std::size_t> at(pieces.size() + 1);
  for (std::size_t i = 0; i < pieces.size(); ++i) at[i + 1] = at[i] + pieces[i].n * row->size;
  const std::size_t tasks = std::min(pieces.size(), static_cast<std::size_t>(context.scheduler.concurrency()) * 4);
  context.scheduler.for_each(
      tasks,
      [&](std::size_t t) {
        for (std::size_t i = pieces.size() * t / tasks; i < pieces.size() * (t + 1) / tasks; ++i)
          std::memcpy(memory->as<std::byte>() + at[i], pieces[i].rows, pieces[i].n * row->size);
      },
      context.cancel);
  b.rows.rows = memory->data();
  b.owner = std::move(memory);
  return b;
}

std::shared_ptr<const device_rows> rows_of_block(const planner::branch& b, const std::vector<bool>& fields, vertex_run& run) {
  const planner::branch last = in_parts(b) ? last_part(b) : b;
  return bare(last) ? run.input(last, fields) : run_collect_before(last, run);
}

std::vector<bool> fields_of_blocks(const planner::branch& b, const std::vector<bool>& as_they_lie) {
  if (in_parts(b)) return {};
  return bare(b) ? as_they_lie : fields_read(b, true);
}

parting::parting(const planner::branch& b, const detail::logical& n, const detail::user_function& key, vertex_run& run, reduction less)
    : b_(b),
      behind_(behind(b)),
      run_(run),
      less_(std::move(less)),
      places_(behind_, n, key, parts_made),
      parts_(b.row->size, parts_made, run.context()) {
  run.context().pieces->partitions += parts_made;
}

void parting::take() {
  std::shared_ptr<const device_rows> rows = rows_of_block(b_, all_fields(b_.row), run_);
  run_.reset_status();
  if (less_) rows = less_(*rows);
  if (!rows->size()) return;
  const runtime::buffer places = places_.of(*rows, run_);
  const detail::table t = std::const_pointer_cast<device_rows>(rows)->fetch(run_.context());
  parts_.append(t.rows, places.as<std::uint32_t>(), t.n);
}

}  // namespace query::gpu_engine
