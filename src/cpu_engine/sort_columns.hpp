// The sort keys of the rows of one table, as the functions of an order_by give them; those that are parts of its rows stay where they are.
//
//   const sort_columns columns(v, rows, tasks);
//   permutation order = sort_rows(columns.keys(), rows.n, scheduler, pool, cancel);
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "cpu_engine/key_column.hpp"
#include "cpu_engine/sort.hpp"

namespace query::cpu {

class sort_columns {
 public:
  sort_columns(const planner::vertex& v, const detail::table& rows, const vertex_tasks& tasks) {
    const detail::logical& node = *v.node;
    for (std::size_t i = 0; i < node.functions.size(); ++i) {
      const detail::order_key& o = node.order[i];
      const key_column& c = placed_at(o, [&]() -> key_column& {
        return columns_.emplace_back(node.functions[i], v.interpreted, rows, tasks, key_column::layout::any);
      });
      keys_.push_back({.type = c.type(), .base = c.base(), .stride = c.stride(), .descending = o.descending, .nulls_first = o.nulls_first,
                       .custom = order_of(o.custom)});
    }
  }
  std::span<const sort_key> keys() const { return keys_; }

 private:
  std::deque<key_column> columns_;
  std::vector<sort_key> keys_;
};

}  // namespace query::cpu
