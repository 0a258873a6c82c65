// Parallel work of one operator: tasks that see the vertex's captured collections, and rows that tasks construct together.
//
//   vertex_tasks tasks(context, v.captures);
//   rows_buffer keys = construct_rows(type, n, tasks, [&](std::size_t first, std::size_t k, void* out) { ... });
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <query/detail/function_ref.hpp>

#include "cpu_engine/permutation.hpp"
#include "cpu_engine/pipeline.hpp"
#include "cpu_engine/rows_buffer.hpp"

namespace query::cpu {

class vertex_tasks {
 public:
  vertex_tasks(runtime::run_context& context, std::vector<detail::binding> bindings) : context_(&context), bindings_(std::move(bindings)) {}
  vertex_tasks(runtime::run_context& context, const std::vector<planner::binding>& captures)
      : vertex_tasks(context, context.bind(captures)) {}

  runtime::run_context& context() const { return *context_; }
  runtime::scheduler& scheduler() const { return context_->scheduler; }
  runtime::buffer_pool& pool() const { return context_->pool; }
  const runtime::cancel_flag& cancel() const { return context_->cancel; }

  // f(i) for i in [0, n), side by side.
  void for_each(std::size_t n, function_ref<void(std::size_t)> f) const;
  // f(first, k) for the chunks of [0, n): part_rows rows each, whatever the number of threads.
  void chunks(std::size_t n, function_ref<void(std::size_t first, std::size_t k)> f) const;

 private:
  runtime::run_context* context_;
  std::vector<detail::binding> bindings_;
};

inline constexpr std::size_t chunks_of(std::size_t n) { return (n + part_rows - 1) / part_rows; }

// Destroys the rows that came alive in raw memory unless they are released: the undo of a task that throws half way.
class new_rows {
 public:
  new_rows(const ir::type* t, void* at) : type_(t), at_(static_cast<std::byte*>(at)) {}
  new_rows(const new_rows&) = delete;
  new_rows& operator=(const new_rows&) = delete;
  ~new_rows() { destroy_rows(type_, at_, n_); }

  void* end() const { return at_ + n_ * type_->size; }
  void grow(std::size_t n) { n_ += n; }
  void release() { n_ = 0; }

 private:
  const ir::type* type_;
  std::byte* at_;
  std::size_t n_ = 0;
};

// n rows, of which fill(first, k, out) constructs k from number `first` on, or none if it throws. All come alive or none. What they own
// on the heap counts as they come. moved, if not null: it has been counted, as all of them move from elsewhere.
rows_buffer construct_rows(const ir::type* type, std::size_t n, const vertex_tasks& tasks,
                           function_ref<void(std::size_t first, std::size_t k, void* out)> fill, heap_charge* moved = nullptr);

// A table that an operator reads; `fresh` if it was made for it alone, so that its rows may be moved from.
struct input_rows {
  detail::table table;
  bool fresh = false;
};
input_rows collect_input(const planner::vertex& v, std::size_t input, const vertex_tasks& tasks);

// Rows of a table in a new order: row i is from[ids[i]]. Each id occurs at most once.
template <class Id> detail::table take_rows_by_id(const input_rows& from, const Id* ids, std::size_t n, const vertex_tasks& tasks);
detail::table take_rows_by_id(const input_rows& from, const permutation& ids, const vertex_tasks& tasks);

// Rows [first, first + n) of a table, where they lie.
detail::table slice(const detail::table& t, std::uint64_t first, std::uint64_t n);

inline const std::byte* row_at(const void* rows, const ir::type* t, std::size_t i) {
  return static_cast<const std::byte*>(rows) + i * t->size;
}
inline const std::byte* row_at(const detail::table& t, std::size_t i) { return row_at(t.rows, t.type, i); }

}  // namespace query::cpu
