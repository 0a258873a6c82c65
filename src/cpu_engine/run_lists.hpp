// Makes a list of each run of rows, for chunk(n) and window(n), one piece of the result at a time. The lists of a piece, and the memory
// that they own, are used again for the next piece if no reader holds them any more.
//
//   run_lists lists(list_type, pool);
//   detail::table piece = lists.of(rows, {3, 1, 1000}, 100, tasks);   // rows 0..2, 1..3, ...
#pragma once

#include <cstddef>

#include "cpu_engine/rows_buffer.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

class run_lists {
 public:
  // Whether this class can make such lists. They must be short, because the query cannot stop while one list is made.
  static bool can_make(const ir::type* list, std::uint64_t length, const runtime::buffer_pool& pool);

  run_lists(const ir::type* list, runtime::buffer_pool& pool) : list_(list), pool_(&pool) {}
  // Each task makes `a_task` lists.
  detail::table of(const detail::table& rows, const detail::row_runs& runs, std::size_t a_task, const vertex_tasks& tasks);

 private:
  rows_buffer& free_lists();
  void fill(void* lists, const std::byte* rows, const detail::row_runs& runs, std::size_t a_task, const vertex_tasks& tasks) const;

  const ir::type* list_;
  runtime::buffer_pool* pool_;
  detail::table given_;       // the previous piece; its owner may hold more lists than the piece shows
  std::size_t counted_ = 0;   // heap bytes of its lists when it was returned
};

}  // namespace query::cpu
