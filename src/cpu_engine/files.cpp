#include "cpu_engine/files.hpp"

#include <query/detail/failure.hpp>

#include "cpu_engine/rows_buffer.hpp"
#include "data/csv_file.hpp"
#include "data/file_source.hpp"

namespace query::cpu {

namespace {

detail::table read_rows(const planner::vertex& v, runtime::run_context& context) {
  const auto& source = *static_cast<const data::file_source*>(v.node->options.get());
  const auto parallel = [&](std::size_t n, function_ref<void(std::size_t)> task) { context.scheduler.for_each(n, task, context.cancel); };
  data::csv_file file(source.path, source.options, v.node->row);
  file.index(parallel);
  // The executor's source branch of this vertex says which fields anyone reads.
  std::unique_ptr<bool[]> wanted;
  std::size_t n = 0;
  if (!v.wanted.empty()) {
    n = v.wanted.size();
    wanted = std::make_unique<bool[]>(n);
    for (std::size_t i = 0; i < n; ++i) wanted[i] = v.wanted[i];
  }
  rows_buffer rows(v.node->row, context.pool);
  rows.reserve(file.rows() ? file.rows() : 1);
  file.read(parallel, {wanted.get(), n}, rows.data());
  rows.grow(file.rows());
  return std::move(rows).to_table();
}

}  // namespace

detail::table read_file(const planner::vertex& v, runtime::run_context& context) {
  try {
    return read_rows(v, context);
  } catch (const detail::unplaced_error& e) {
    detail::fail_at(e, v.node->where);
  }
}

}  // namespace query::cpu
