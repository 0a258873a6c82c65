#include "cpu_engine/group_by.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "cpu_engine/group_partitions.hpp"
#include "cpu_engine/pipeline.hpp"

namespace query::cpu {

using detail::logical;
using detail::row_block;

namespace {

constexpr std::size_t most_tables = 64;
// A part whose table has outgrown this many groups, with less than four rows a group, says that pre-aggregation does not pay.
constexpr std::size_t many_groups = 1 << 15;

class group_sink final : public detail::batch_sink {
 public:
  explicit group_sink(group_table& t) : table_(&t) {}
  void push(const row_block& b) override { table_->update(b.rows, b.n); }

 private:
  group_table* table_;
};

}  // namespace

detail::table group_rows(const planner::vertex& v, runtime::run_context& context) {
  const logical& n = *v.node;
  const auto bindings = context.bind(v.captures);
  const detail::binding_scope scope(bindings);  // merging and finishing call functions too
  const group_program program(n, v.group_function.get());
  const function_calls key(n.functions[0], v.interpreted, false);

  pipeline p(v.inputs[0], v.captures, context);
  p.limit_parts(most_tables);
  std::vector<std::unique_ptr<group_table>> tables(p.parts() ? std::max<std::size_t>(1, *p.parts()) : most_tables);

  // The first part tells whether tables a part pay.
  bool partition = false;
  const auto run = [&](const pipeline::part& part) {
    auto& t = tables[part.index % tables.size()];
    if (!t) t = std::make_unique<group_table>(n, program, key, context.pool);
    group_sink sink(*t);
    part.run(sink);
  };
  if (p.run_some(1, run)) {
    const group_table& first = *tables[0];
    partition = p.source_rows() && tables.size() > 1 && first.groups.size() > many_groups && first.groups.size() * 4 > first.rows_seen;
  }
  if (partition) {
    return group_partitioned(v, std::move(tables[0]), collect_rest(p), program, key, context);
  }
  // The tables of a window, in the order of their parts, join the first one.
  std::unique_ptr<group_table> all = std::move(tables.front());
  const auto merge_window = [&](std::size_t first) {
    for (std::size_t i = 0; i < tables.size(); ++i) {
      std::unique_ptr<group_table> t = std::move(tables[(first + i) % tables.size()]);
      if (!t) continue;
      context.cancel.check();
      if (all) all->merge(*t);
      else all = std::move(t);
    }
  };
  if (p.source_rows()) {
    p.run_all(run);
    merge_window(1);
  } else {
    for (std::size_t first = p.next_part(); p.run_some(most_tables, run); first = p.next_part()) merge_window(first);
  }
  rows_buffer out(n.row, context.pool);
  if (all) all->finish(out);
  return std::move(out).to_table();
}

detail::table aggregate_rows(const planner::vertex& v, runtime::run_context& context) {
  const logical& n = *v.node;
  const group_program program(n, v.group_function.get());
  const auto bindings = context.bind(v.captures);
  const detail::binding_scope scope(bindings);
  pipeline p(v.inputs[0], v.captures, context);
  p.limit_parts(most_tables);
  const bool known = p.parts().has_value();
  const std::size_t window = known ? std::max<std::size_t>(*p.parts(), 1) : most_tables;
  std::unique_ptr<group_states> total = program.states(context.pool);
  total->grow_to(1);

  std::atomic<bool> any = false;
  class sink final : public detail::batch_sink {
   public:
    sink(group_states& s, std::atomic<bool>& any) : states_(&s), any_(&any) {}
    void push(const row_block& b) override {
      if (b.n) any_->store(true, std::memory_order_relaxed);
      states_->update(nullptr, b.rows, nullptr, b.n);
    }

   private:
    group_states* states_;
    std::atomic<bool>* any_;
  };
  while (true) {
    std::vector<std::unique_ptr<group_states>> parts(window);  // made when they run: a state may hold a large row
    const std::size_t first = p.next_part();
    const bool more = p.run_some(window, [&](const pipeline::part& part) {
      auto& states = parts[part.index - first];
      states = program.states(context.pool);
      states->grow_to(1);
      sink s(*states, any);
      part.run(s);
    });
    for (const auto& s : parts) {
      context.cancel.check();
      if (s) total->merge(nullptr, *s, 0, 1);
    }
    if (!more || known) break;
  }
  if (!any) {  // an expression holds where there are rows (detail/aggregates_of_all.hpp)
    total = group_program(n, nullptr).states(context.pool);
    total->grow_to(1);
  }
  rows_buffer out(n.row, context.pool);
  const std::int64_t no_key = 0;
  total->finish(&no_key, 0, 1, out.extend(1));
  out.grow(1);
  return std::move(out).to_table();
}

}  // namespace query::cpu
