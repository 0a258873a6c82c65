// group_by whose keys are integers of a small range: the number of a group is its key less the smallest one (perfect hashing). Nobody
// hashes keys, compares them, or partitions rows.
//
// The parts of the input are lanes, each with a state for every key of the range. Slices of the range, side by side, then merge the states
// of all lanes, in the order of these. A sample of the input gave the range: for keys outside, each lane has a table, and these are merged
// one after the other. A lane notes its keys as they appear, so the result has the order of group_order.hpp.
//
//   perfect_hash_groups lane(shared);     // a part
//   lane.update(rows, n) or lane.update(batch);
//   return merged_lanes(vertex, std::move(lanes), shared, ...);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cpu_engine/column_batch.hpp"
#include "cpu_engine/group_table.hpp"
#include "cpu_engine/key_range.hpp"
#include "cpu_engine/pipeline.hpp"

namespace query::cpu {

class perfect_hash_groups {
 public:
  // What every lane of a group_by has.
  struct shared {
    const detail::logical* node;
    const group_program* program;
    const function_calls* key;
    const column_key* columns;  // the key of rows that come as columns; null: they come as records
    runtime::buffer_pool* pool;
    key_range range;
    unsigned order_bits;  // of groups that are not few
    std::unique_ptr<group_table> new_table() const { return std::make_unique<group_table>(*node, *program, *key, *pool, columns); }
  };
  explicit perfect_hash_groups(const shared& of);

  void update(const void* rows, std::size_t n);
  void update(const column_batch& rows);  // at most batch_rows

  // Groups of keys [first, first + n) of the range: writes the places of those that have rows.
  std::size_t present(std::size_t first, std::size_t n, std::uint32_t* places) const;
  // Word i says which of the keys from 64 * i on have rows.
  const std::uint64_t* bits() const { return present_.as<std::uint64_t>(); }
  static std::size_t words(const key_range& range) { return static_cast<std::size_t>((range.size + 63) / 64); }
  group_states& states() { return *states_; }
  // Places of those keys of the range that have rows, as they appeared first.
  std::span<const std::uint32_t> opened() const { return {opened_.as<std::uint32_t>(), opened_count_}; }
  std::unique_ptr<group_table> take_others() { return std::move(others_); }  // null: all keys were in the range
  // For each group of the others: how many keys of the range had appeared before it.
  const std::vector<std::uint64_t>& opened_before_others() const { return opened_before_others_; }

  // About what a lane takes.
  static std::size_t bytes(const key_range& range, std::size_t state_bytes) {
    return static_cast<std::size_t>(range.size) * (state_bytes + 1 + sizeof(std::uint32_t));
  }

 private:
  // Finds the places of a batch's keys; true: all are in the range. Else the numbers of the rows inside and outside are in inside_, with
  // the places of the former, and outside_.
  bool find(const key_part& keys, std::size_t n);
  group_table& others();
  void note_others();  // after they have taken the rows outside

  const shared* of_;
  std::unique_ptr<group_states> states_;
  runtime::buffer present_, opened_;
  std::size_t opened_count_ = 0;
  std::optional<column_key::runner> key_columns_;
  std::optional<std::size_t> key_at_;  // records: where the key lies in each
  rows_buffer keys_;
  interpreter::scratch scratch_;
  std::unique_ptr<group_table> others_;
  std::vector<std::uint64_t> opened_before_others_;
  narrowed_columns narrowed_;
  std::size_t inside_count_ = 0, outside_count_ = 0;
  std::uint32_t places_[batch_rows], inside_[batch_rows], outside_[batch_rows];
  std::size_t opened_before_[batch_rows];  // for each row outside
};

// The groups of all lanes, none of which is null.
runtime::vertex_rows merged_lanes(const planner::vertex& v, std::vector<std::unique_ptr<perfect_hash_groups>> lanes,
                                  const perfect_hash_groups::shared& of, std::vector<std::shared_ptr<const void>> sources,
                                  runtime::run_context& context);

}  // namespace query::cpu
