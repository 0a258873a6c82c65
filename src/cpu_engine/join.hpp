// Joins: the hash table over the build side, the stage that probes it, and the joins that are vertices of their own.
//
// inner, left, semi and anti joins are a stage of the probe side's pipeline (prepare_probe, pipeline.hpp). right and full
// joins probe in the same way, note which build rows matched, and add the others at the end; group_join and cross_join
// need rows of one side together.
//
//   auto stage = std::make_unique<join_probe>(join, build_table, false, interpreted, tasks);
//   stage->start(sink)->push(left_rows);
#pragma once

#include <memory>
#include <optional>

#include "cpu_engine/asof_table.hpp"
#include "cpu_engine/perfect_hash_join.hpp"
#include "cpu_engine/join_table.hpp"
#include "cpu_engine/key_column.hpp"
#include "cpu_engine/pair_calls.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

// The rows of one side with a hash table over their keys; or, if the caller can use that, placed by their keys.
class keyed_rows {
 public:
  keyed_rows(const detail::user_function& key, const detail::key_calls& custom, bool interpreted, bool may_be_direct, detail::table rows,
              const vertex_tasks& tasks);
  // Of an asof_join.
  keyed_rows(const detail::user_function& key, const asof_options& how, bool interpreted, detail::table rows, const vertex_tasks& tasks);

  const detail::table& rows() const { return rows_; }
  const void* row(std::uint64_t i) const { return i == join_table::no_row ? nullptr : row_at(rows_, static_cast<std::size_t>(i)); }
  // Are rows so many that each access is a cache miss?
  bool prefetch() const { return rows_.n * rows_.type->size > (std::size_t{1} << 18); }
  join_table& table() const { return *table_; }                // not if there are
  const perfect_hash_join* direct() const { return direct_.get(); }  // direct rows,
  const asof_table* nearest() const { return nearest_.get(); } // or rows in the order of their times

 private:
  detail::table rows_;
  std::optional<key_column> keys_;
  std::unique_ptr<perfect_hash_join> direct_;
  std::unique_ptr<asof_table> nearest_;
  std::unique_ptr<join_table> table_;
};

class join_probe final : public prepared_stage {
 public:
  // `join`: the logical node. `build_left`: its left rows are those in `build`, and right rows are streamed.
  join_probe(const detail::logical& join, detail::table build, bool build_left, bool interpreted, const vertex_tasks& tasks);
  ~join_probe() override;

  std::unique_ptr<stage_runner> start(detail::batch_sink& next) const override;
  // Right and full joins, after all rows have been pushed: the build rows that matched nothing.
  rows_buffer unmatched(const vertex_tasks& tasks) const;

 private:
  struct prepared;
  class pair_runner;
  class test_runner;
  std::unique_ptr<prepared> p_;
};

// right and full joins, group_join and cross_join.
runtime::vertex_rows join_rows(const planner::vertex& v, runtime::run_context& context);
runtime::vertex_rows group_join_rows(const planner::vertex& v, const vertex_tasks& tasks);
detail::table cross_join_rows(const planner::vertex& v, const vertex_tasks& tasks);

// The stage of a join whose probe side is a pipeline; `bindings`: collections that its functions captured.
std::unique_ptr<prepared_stage> prepare_probe(const planner::stage& s, runtime::run_context& context,
                                              std::vector<detail::binding> bindings);

}  // namespace query::cpu
