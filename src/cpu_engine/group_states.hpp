// The states of one table of groups, one for each group. Either the user's compiled function keeps them, or the aggregates of its
// expression do.
//
//   group_program program(node, vertex.groups.get());
//   std::unique_ptr<group_states> states = program.states(pool);
//   states->grow_to(groups); states->update(ids, rows, nullptr, n); states->finish(keys, 0, groups, out);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include <query/detail/plan.hpp>

#include "cpu_engine/column_batch.hpp"
#include "ir/group_function.hpp"
#include "runtime/buffer_pool.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

// Some states of a table: those from `first` on, or those that are chosen.
struct state_numbers {
  std::size_t first = 0, n = 0;
  const std::uint32_t* chosen = nullptr;
  std::size_t operator[](std::size_t i) const { return chosen ? chosen[i] : first + i; }
};

class group_states {
 public:
  virtual ~group_states() = default;

  virtual void grow_to(std::size_t groups) = 0;  // fresh states up to that number
  // Row select[i], or i, goes to group groups[i]; null groups: all to group 0.
  virtual void update(const std::uint32_t* groups, const void* rows, const std::uint32_t* select, std::size_t n) = 0;
  // The same for rows that come as columns, at most batch_rows of them. Only for a program that was made for columns.
  virtual void update(const std::uint32_t* groups, const column_batch& rows);
  // Whether one loop computes keys and updates states. If so, update_known updates the groups of rows whose keys are known, stops at
  // the first row with another key, stores that key in `missed`, and returns the number of rows before it.
  virtual bool knows_keys() const { return false; }
  virtual std::size_t update_known(const void* /*key*/, const detail::known_keys& /*keys*/, const void* /*rows*/, std::size_t /*n*/,
                                   void* /*missed*/) {
    return 0;
  }
  // Merges states of `from`, which has the same program, into groups[i], or into group 0. The merged states must not be used again.
  virtual void merge(const std::uint32_t* groups, group_states& from, const state_numbers& of) = 0;
  // Constructs the results of groups [first, first + n) in raw memory; keys[i] belongs to group first + i. Once for each group.
  virtual void finish(const void* keys, std::size_t first, std::size_t n, void* out) = 0;
  // Constructs the values of one aggregate in raw memory. Replaces finish() in a program that gives columns.
  virtual void result(std::size_t aggregate, std::size_t first, std::size_t n, void* out);
  virtual void clear() = 0;
  // The approximate heap memory of the states, as far as the library can see it. It counts towards the session's memory.
  virtual std::size_t heap_bytes() const { return 0; }
  // States as bytes, for another partition (partial_groups.hpp). Only for functions whose states are plain values.
  virtual std::size_t state_bytes() const;
  virtual void save(std::size_t i, std::byte* to);
  virtual void load(std::size_t i, const std::byte* from);  // overwrites an existing state
};

// The function of groups of a group_by or aggregate, for one execution.
class group_program {
 public:
  // plan: its expressions keep the states; if it is null, the compiled function does. columns: rows may also come as these columns.
  // gives_columns: the results are columns of keys and aggregates, not records of groups.
  group_program(const detail::logical& n, const ir::group_plan* plan, const planner::column_schema* columns = nullptr,
                bool gives_columns = false);
  ~group_program();
  bool gives_columns() const { return gives_columns_; }

  // Says that states will be saved. Their padding bytes are then zero.
  void saves_states() { saves_ = true; }
  // If all rows are one group: its states write values to files when memory runs short.
  void spills(runtime::run_context& context);
  std::unique_ptr<group_states> states(runtime::buffer_pool& pool) const;

 private:
  const detail::logical* node_;
  bool gives_columns_, saves_ = false;
  std::optional<planner::column_schema> columns_;
  std::shared_ptr<const void> compiled_;
  std::shared_ptr<class group_expressions> expressions_;
};

}  // namespace query::cpu
