// The rows of the files of a vertex, whatever their format: what files.cpp chooses among.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>

#include <query/detail/plan.hpp>

#include "data/file_source.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"
#include "runtime/scheduler.hpp"

namespace query::cpu {

// All at once or block by block.
class file_rows {
 public:
  virtual ~file_rows() = default;
  virtual detail::table all() = 0;
  // The next rows, at least one, of about so many bytes of a file; false at the end.
  virtual bool next(detail::table& out, std::size_t bytes) = 0;
};

struct file_to_read {
  std::string path, name;
  data::file_state state;
  std::optional<data::file_part> part;  // none: all of it
};

// for_each of a run's scheduler, which looks whether the run should stop.
struct file_tasks {
  runtime::run_context* context;
  void operator()(std::size_t n, function_ref<void(std::size_t)> task) const { context->scheduler.for_each(n, task, context->cancel); }
};

inline const data::file_source& file_source_of(const planner::vertex& v) {
  return *static_cast<const data::file_source*>(v.node->options.get());
}

}  // namespace query::cpu
