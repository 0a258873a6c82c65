// Runs of rows as lists, a piece at a time: what chunk(n) and window(n) hand on. The lists of one piece, and what they own, are used again
// for the next, once its reader has let go of it.
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
  // Lists of this type and length: short ones, as one is made without a look at whether the query should stop.
  static bool can_make(const ir::type* list, std::uint64_t length, const runtime::buffer_pool& pool);

  run_lists(const ir::type* list, runtime::buffer_pool& pool) : list_(list), pool_(&pool) {}
  // Tasks make `a_task` lists each.
  detail::table of(const detail::table& rows, const detail::row_runs& runs, std::size_t a_task, const vertex_tasks& tasks);

 private:
  rows_buffer& free_lists();
  void fill(void* lists, const std::byte* rows, const detail::row_runs& runs, std::size_t a_task, const vertex_tasks& tasks) const;

  const ir::type* list_;
  runtime::buffer_pool* pool_;
  detail::table given_;       // the piece before; its owner may have more lists
  std::size_t counted_ = 0;   // bytes that these lists owned
};

}  // namespace query::cpu
