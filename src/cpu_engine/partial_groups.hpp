// Groups on their way between partitions of the cluster graph: each partition groups its own rows, sends a key and the states of its
// aggregates for each group, and merges what it receives. An aggregate of all rows is one group without a key.
//
// Where nearly each row has a group of its own, a table finds nothing to merge: rows are then sent as groups of one row, in their order.
// Receivers merge in the order of senders, and senders keep the order of their rows, so first, last, arg_min and arg_max are as ever.
//
//   group_rows(exchange, context) -> write_groups: pages by the hash of keys -> read_groups, where they are sent -> merge_groups
//
// Source: P.-Å. Larson, Data Reduction by Partial Preaggregation, ICDE 2002.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "cpu_engine/group_output.hpp"
#include "cpu_engine/group_table.hpp"
#include "cpu_engine/pipeline.hpp"
#include "runtime/page_store.hpp"
#include "runtime/row_pages.hpp"

namespace query::cpu {

// Why partitions send the rows of a group_by or aggregate, not states; "": they send states.
std::string why_rows_are_sent(const planner::vertex& v);

// The groups that a partition sends or receives, in runs, which may have keys in common.
struct partial_groups final : runtime::kept_rows {
  struct run {
    std::variant<std::monostate, stored_keys, rows_buffer> keys;  // whole; none of an aggregate
    std::unique_ptr<group_states> states;                         // state i is that of key i
    std::size_t n = 0;
    runtime::page_store::handle pages{};  // if not null, they are in these instead (partial_group_pages.hpp), in memory or a file
    const void* whole_keys() const;
  };
  partial_groups(std::vector<run> all, std::shared_ptr<runtime::page_store> keeps) : runs(std::move(all)), store(std::move(keeps)) {}
  std::string_view engine() const override { return "cpu"; }
  std::uint64_t size() const override;
  detail::table fetch(runtime::run_context&) override;

  std::vector<run> runs;
  std::shared_ptr<runtime::page_store> store;  // of pages; null: there are none
};
partial_groups::run run_of(std::unique_ptr<group_table> groups);
std::unique_ptr<group_output> groups_to_send(const planner::vertex& v, runtime::run_context& context, std::size_t partitions);
runtime::vertex_rows groups_to_send(std::unique_ptr<group_table> groups);

// Turns runs into pages, which may leave memory, where it is short. Of any thread.
class group_keeper {
 public:
  group_keeper(const planner::vertex& v, runtime::run_context& context);
  void keep(partial_groups::run& r);
  bool is_tight() const;
  const std::shared_ptr<runtime::page_store>& store() const { return store_; }

 private:
  const planner::vertex* v_;
  runtime::buffer_pool* pool_;
  std::shared_ptr<runtime::page_store> store_;  // null: nothing leaves memory
};

// Rows as groups of one row.
class rows_as_groups final : public detail::batch_sink, public column_sink {
 public:
  rows_as_groups(const detail::logical& n, const group_program& program, const function_calls& key, runtime::buffer_pool& pool,
                 const column_key* columns);
  void push(const detail::row_block& b) override;
  void push(const column_batch& b) override;
  partial_groups::run take() { return std::move(run_); }

 private:
  void open(key_view keys, std::size_t n);

  const detail::logical* node_;
  const function_calls* key_;
  std::optional<column_key::runner> key_columns_;
  rows_buffer keys_;
  interpreter::scratch scratch_;
  partial_groups::run run_;
  std::uint32_t ids_[batch_rows], all_[batch_rows];
};

// The pages for each of the receivers, by the hash of keys as hash_partitioned_by takes it.
void write_groups(const planner::vertex& v, const runtime::vertex_rows& groups, std::size_t receivers, runtime::bucket_sink take,
                  runtime::run_context& context);
runtime::vertex_rows read_groups(const planner::vertex& v, runtime::page_feed& pages, runtime::run_context& context);

// group_by and aggregate of what read_groups gave.
runtime::vertex_rows merge_groups(const planner::vertex& v, runtime::run_context& context);
runtime::vertex_rows merge_aggregates(const planner::vertex& v, runtime::run_context& context);

}  // namespace query::cpu
