// Rows that are collected as memory allows: side by side while they fit, else in a stored_sequence, which moves them to a temporary file.
//
//   collected_rows all = collect_as_memory_allows(v.inputs[0], v.captures, context, bytes_beside);
//   if (all.made) read(*all.made); else read(all.rows.table);
//
//   collected_parts out(row, parts, 0, context);                     // what tasks give, in the order of their numbers
//   collected_parts::part to(out, number); to.push(block); to.finish();        // on any threads
//   return std::move(out).rows(tasks).as_vertex_rows();
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "cpu_engine/stored_sequence.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

// Side by side, or made as they are read.
struct collected_rows {
  input_rows rows;
  std::shared_ptr<made_tables> made;
  std::size_t row_heap = 0;  // about what a row owns on the heap, where it has been counted

  std::uint64_t size() const { return made ? made->size() : rows.table.n; }
  runtime::vertex_rows as_vertex_rows() const { return made ? runtime::vertex_rows(made) : runtime::vertex_rows(rows.table); }
  runtime::vertex_rows partitioned(std::vector<std::size_t> ends) const;
  // The same as tables that are copied of them.
  std::shared_ptr<made_tables> as_made(const runtime::run_context& context) const;
  // Rows [first, first + n), or fewer at their end.
  runtime::vertex_rows range(std::uint64_t first, std::uint64_t n) const;
};

// Can rows of this type go to files in this run?
bool may_leave_memory(const ir::type* row, const runtime::run_context& context);
// Is there room for so many rows of so many bytes?
bool has_room_for(std::uint64_t rows, std::size_t row_bytes, const runtime::run_context& context);

// beside: bytes for each row that its reader needs as well.
collected_rows collect_as_memory_allows(const planner::branch& b, const std::vector<planner::binding>& captures,
                                        runtime::run_context& context, std::size_t beside = 0);
collected_rows collect_rest_as_memory_allows(pipeline& p, std::size_t beside = 0);
// The rows of a vertex that can hand them on, where memory may have no room for its table.
std::optional<runtime::vertex_rows> streamed_into_store(const planner::vertex& v, runtime::run_context& context);
// Rows that refer to nothing that the run makes: those of a loop's round, which outlive what they were made of.
runtime::vertex_rows settled_rows(const runtime::vertex_rows& rows, runtime::run_context& context);

class collected_parts {
 public:
  collected_parts(const ir::type* row, std::size_t parts, std::size_t beside, runtime::run_context& context);

  class part final : public detail::batch_sink {
   public:
    part(collected_parts& to, std::size_t number) : to_(&to), number_(number), rows_(to.row_, to.context_->pool) {}
    void reserve(std::size_t rows);
    void push(const detail::row_block& b) override;
    void finish();

   private:
    void move_to_store();

    collected_parts* to_;
    std::size_t number_, counted_ = 0;  // bytes
    rows_buffer rows_;
    std::optional<stored_sequence::writer> writer_;  // instead of them
  };

  collected_rows rows(const vertex_tasks& tasks) &&;

 private:
  void begin_store();

  const ir::type* row_;
  std::size_t parts_;
  runtime::run_context* context_;
  std::size_t most_bytes_, most_of_part_;  // that stay in memory
  std::atomic<std::size_t> bytes_ = 0;
  std::atomic<bool> stored_ = false;
  std::mutex lock_;
  std::map<std::size_t, rows_buffer> held_;
  std::shared_ptr<stored_sequence> store_;
};

// A branch that reads these rows while it lives.
class branch_of_rows {
 public:
  branch_of_rows(const ir::type* row, runtime::vertex_rows rows, runtime::run_context& context);
  branch_of_rows(const branch_of_rows&) = delete;
  branch_of_rows& operator=(const branch_of_rows&) = delete;
  ~branch_of_rows() { context_->tables.erase(vertex_.get()); }

  const planner::branch& get() const { return branch_; }
  planner::vertex* vertex() const { return vertex_.get(); }

 private:
  std::unique_ptr<planner::vertex> vertex_;
  planner::branch branch_;
  runtime::run_context* context_;
};

}  // namespace query::cpu
