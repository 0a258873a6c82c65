// The states of one table of groups, a state a group, whatever keeps them: the compiled function of the user's, or the
// aggregates of its expression.
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
  // The same of rows as columns, at most batch_rows of them; only of a program made for columns.
  virtual void update(const std::uint32_t* groups, const column_batch& rows);
  // Are key and states updated in one loop? Then update_known updates the groups of rows whose keys are known, up to the first
  // row of another key, which goes to `missed`, and returns how many rows that were.
  virtual bool knows_keys() const { return false; }
  virtual std::size_t update_known(const void* /*key*/, const detail::known_keys& /*keys*/, const void* /*rows*/, std::size_t /*n*/,
                                   void* /*missed*/) {
    return 0;
  }
  // States of `from`, of the same program, join groups[i], or group 0. They are of no use afterwards.
  virtual void merge(const std::uint32_t* groups, group_states& from, const state_numbers& of) = 0;
  // Constructs the results of groups [first, first + n) in raw memory; keys[i] belongs to group first + i. Once for each group.
  virtual void finish(const void* keys, std::size_t first, std::size_t n, void* out) = 0;
  // Constructs values of one aggregate of the program in raw memory: of a program that gives columns, instead of finish().
  virtual void result(std::size_t aggregate, std::size_t first, std::size_t n, void* out);
  virtual void clear() = 0;
  // About how much the states own on the heap, where the library can see that: then it counts in the session's memory.
  virtual std::size_t heap_bytes() const { return 0; }
  // States as bytes, for another partition (partial_groups.hpp): of functions whose states are values alone.
  virtual std::size_t state_bytes() const;
  virtual void save(std::size_t i, std::byte* to);
  virtual void load(std::size_t i, const std::byte* from);  // in place of a state that is there
};

// The function of groups of a group_by or aggregate, for one execution.
class group_program {
 public:
  // plan: keep the states by its expressions; null: as the compiled function does. columns: rows come as these, too. gives_columns: keys
  // and aggregates become columns; there are no records of groups.
  group_program(const detail::logical& n, const ir::group_plan* plan, const planner::column_schema* columns = nullptr,
                bool gives_columns = false);
  ~group_program();
  bool gives_columns() const { return gives_columns_; }

  // States will be saved: what no value decides of their bytes is zero.
  void saves_states() { saves_ = true; }
  // Of one group of all rows: what its states have no room for goes to files.
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
