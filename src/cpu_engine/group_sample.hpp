// A look at some rows of a group_by before it runs: how many groups there will be, and in what range their keys lie.
//
//   group_sample sample(vertex, key, columns, pool);
//   if (sample.look(pipeline)) use(sample.groups(), sample.largest(), sample.range(state_bytes));
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <query/cpu/segment_form.hpp>

#include "cpu_engine/column_key.hpp"
#include "cpu_engine/function_calls.hpp"
#include "cpu_engine/grouper.hpp"
#include "cpu_engine/key_range.hpp"
#include "cpu_engine/pipeline.hpp"

namespace query::cpu {

class group_sample final : public column_sink, public detail::batch_sink {
 public:
  // columns: the key of rows that come as columns; null: they come as records.
  group_sample(const detail::logical& n, const function_calls& key, const column_key* columns, runtime::buffer_pool& pool);

  // A sample needs a source with more rows than this, whose rows can be read again.
  static constexpr std::size_t least_rows = std::size_t{1} << 19;
  static constexpr std::size_t least_rows_a_key = 16;  // of a range that is small for the number of rows
  // False: a row of the sample fails, and the run itself says which row fails first.
  bool look(pipeline& p);

  double groups() const;   // about so many of all rows
  double rows() const;     // about so many reach the group_by
  double largest() const;  // the largest group's share of the rows that were looked at
  // The range of integer keys, if it is small for the number of rows, and if there is not a small table for few keys in it.
  std::optional<key_range> range(std::size_t state_bytes) const;

  void push(const column_batch& b) override;
  void push(const detail::row_block& b) override;

 private:
  void take(key_view keys, std::size_t n);

  const detail::logical* node_;
  const function_calls* key_;
  std::optional<column_key::runner> key_columns_;
  std::optional<std::size_t> key_at_;  // records: where the key lies in each
  rows_buffer keys_;
  interpreter::scratch scratch_;
  grouper groups_;
  bool integers_, at_an_end_ = false;
  key_bounds bounds_;
  std::vector<std::uint32_t> counts_;  // rows, by group
  std::uint32_t ids_[batch_rows];
  std::size_t rows_ = 0, all_ = 0;     // looked at; of the source
};

// How many groups there are, if so many rows that were drawn from them have seen `seen`.
double groups_of_all(double seen, double rows);

// May keys be numbers of groups (perfect_hash_groups.hpp), as far as keys and states can tell? Then groups have the order of
// group_order.hpp, whether they are or not.
bool may_have_perfect_hash(const planner::vertex& v, const runtime::run_context& context);
// Rows of a sample are seen twice. Is each of their functions one that traces?
bool may_be_seen_twice(const planner::vertex& v);

}  // namespace query::cpu
