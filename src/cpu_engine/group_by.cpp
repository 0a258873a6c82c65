#include "cpu_engine/group_by.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include <query/errors.hpp>

#include "cpu_engine/group_partitions.hpp"
#include "cpu_engine/group_results.hpp"
#include "cpu_engine/pipeline.hpp"

namespace query::cpu {

using detail::logical;
using detail::row_block;

namespace {

constexpr std::size_t most_tables = 64;
// A part whose table has outgrown this many groups, with less than four rows a group, says that pre-aggregation does not pay.
constexpr std::size_t many_groups = 1 << 15;
// So many groups in all tables are merged by partitions of their keys, side by side.
constexpr std::size_t merged_at_once = 1 << 14;
// Of rows that come as columns: so many rows for each group of a table, or fewer tables; and for each group of all, two in each of the
// fewest tables, or no tables.
constexpr std::size_t fewest_tables = 16;
constexpr double rows_a_table_group = 32, rows_a_group = 2 * fewest_tables;

class group_sink final : public detail::batch_sink {
 public:
  explicit group_sink(group_table& t) : table_(&t) {}
  void push(const row_block& b) override { table_->update(b.rows, b.n); }

 private:
  group_table* table_;
};

class column_group_sink final : public column_sink {
 public:
  explicit column_group_sink(group_table& t) : table_(&t) {}
  void push(const column_batch& b) override { table_->update(b); }

 private:
  group_table* table_;
};

// How many groups there will be, of a sample; 0: unknown. Looks at eight places of the source, as rows may lie in some order.
class group_sample final : public column_sink {
 public:
  group_sample(const detail::logical& n, const column_key& key, runtime::buffer_pool& pool)
      : key_(key, pool), groups_(n.key, pool, equality_of(n.keys), true) {}

  double estimate(pipeline& p) {
    constexpr std::size_t places = 8, rows_a_place = 1 << 11;
    const std::size_t n = static_cast<std::size_t>(*p.source_rows());
    try {
      for (std::size_t i = 0; i < places; ++i) {
        // Somewhere in each eighth: at equal distances, rows with a period would all look alike.
        const std::size_t within = static_cast<std::size_t>(detail::hash_word(i)) % (n / places - rows_a_place);
        p.run_rows(n / places * i + within, rows_a_place, [&](const pipeline::part& part) { part.run_columns(*this); });
      }
    } catch (const cancelled&) {
      throw;
    } catch (const resource_error&) {
      throw;
    } catch (const std::exception&) {  // of a row that may not be the first to fail: the run itself says which
      p.context().cancel.check();
      return 0;
    }
    // Drawn from d groups, n rows see d * (1 - exp(-n / d)) of them.
    const double seen = static_cast<double>(groups_.size()), rows = static_cast<double>(rows_);
    if (seen < 0.5 * rows) return seen;
    double low = seen, high = 1e12;
    for (int i = 0; i < 60; ++i) {
      const double d = std::sqrt(low * high);
      (-d * std::expm1(-rows / d) < seen ? low : high) = d;
    }
    return low;
  }
  void push(const column_batch& b) override {
    groups_.find_or_insert(key_.run(b), 0, b.n, ids_);
    rows_ += b.n;
  }

 private:
  column_key::runner key_;
  grouper groups_;
  std::uint32_t ids_[batch_rows];
  std::size_t rows_ = 0;
};

}  // namespace

runtime::vertex_rows group_rows(const planner::vertex& v, runtime::run_context& context) {
  const logical& n = *v.node;
  const auto bindings = context.bind(v.captures);
  const detail::binding_scope scope(bindings);  // merging and finishing call functions too
  pipeline p(v.inputs[0], v.captures, context, v.over_columns, !v.over_columns);
  const planner::column_schema* const columns = v.over_columns ? p.columns() : nullptr;
  const group_program program(n, v.group_function.get(), columns, v.gives_columns != nullptr);
  const function_calls key(n.functions[0], v.interpreted, false);
  std::optional<column_key> key_columns;
  if (columns) key_columns.emplace(n.functions[0], *columns, &n);

  p.limit_parts(most_tables);
  bool partition = false;
  const bool sampled = columns && p.source_rows().value_or(0) > part_rows * 8;
  if (sampled) {
    const double rows = static_cast<double>(*p.source_rows()), groups = group_sample(n, *key_columns, context.pool).estimate(p);
    if (groups > many_groups && groups * rows_a_group > rows)
      return group_partitioned(v, {}, p, program, key, &*key_columns);
    const double tables = rows / (rows_a_table_group * std::max(groups, 1.0));
    p.limit_parts(std::clamp(static_cast<std::size_t>(std::min<double>(tables, most_tables)), fewest_tables, most_tables));
  }
  std::vector<std::unique_ptr<group_table>> tables(p.parts() ? std::max<std::size_t>(1, *p.parts()) : most_tables);
  const auto run = [&](const pipeline::part& part) {
    auto& t = tables[part.index % tables.size()];
    if (!t) t = std::make_unique<group_table>(n, program, key, context.pool, key_columns ? &*key_columns : nullptr);
    if (columns) {
      column_group_sink sink(*t);
      part.run_columns(sink);
    } else {
      group_sink sink(*t);
      part.run(sink);
    }
  };
  // The first part tells whether tables a part pay.
  if (!sampled && p.run_some(1, run) && tables[0]) {
    const group_table& first = *tables[0];
    partition = p.source_rows() && tables.size() > 1 && first.groups.size() > many_groups && first.groups.size() * 4 > first.rows_seen;
  }
  const auto partitioned = [&] {
    std::erase(tables, nullptr);
    return group_partitioned(v, std::move(tables), p, program, key, key_columns ? &*key_columns : nullptr);
  };
  if (partition) return partitioned();
  if (p.source_rows()) {
    p.run_all(run);
    std::size_t groups = 0;
    for (const auto& t : tables) groups += t ? t->groups.size() : 0;
    if (tables.size() > 1 && groups > merged_at_once) return partitioned();
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
    merge_window(1);
  } else {
    for (std::size_t first = p.next_part(); p.run_some(most_tables, run); first = p.next_part()) merge_window(first);
  }
  if (v.gives_columns) {
    std::vector<column_list::piece> pieces;
    if (all && all->groups.size()) pieces.push_back(group_results(v, context).of(std::move(all)));
    return runtime::vertex_rows(
        std::make_shared<column_list>(n.row, v.gives_columns->schema(), std::move(pieces), p.sources()));
  }
  rows_buffer out(n.row, context.pool);
  if (all) all->finish(out);
  return std::move(out).to_table();
}

detail::table aggregate_rows(const planner::vertex& v, runtime::run_context& context) {
  const logical& n = *v.node;
  const auto bindings = context.bind(v.captures);
  const detail::binding_scope scope(bindings);
  pipeline p(v.inputs[0], v.captures, context, v.over_columns);
  const planner::column_schema* const columns = v.over_columns ? p.columns() : nullptr;
  const group_program program(n, v.group_function.get(), columns);
  p.limit_parts(most_tables);
  const bool known = p.parts().has_value();
  const std::size_t window = known ? std::max<std::size_t>(*p.parts(), 1) : most_tables;
  std::unique_ptr<group_states> total = program.states(context.pool);
  total->grow_to(1);

  std::atomic<bool> any = false;
  class sink final : public detail::batch_sink, public column_sink {
   public:
    sink(group_states& s, std::atomic<bool>& any) : states_(&s), any_(&any) {}
    void push(const row_block& b) override {
      if (b.n) any_->store(true, std::memory_order_relaxed);
      states_->update(nullptr, b.rows, nullptr, b.n);
    }
    void push(const column_batch& b) override {
      if (b.n) any_->store(true, std::memory_order_relaxed);
      states_->update(nullptr, b);
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
      if (columns) part.run_columns(s);
      else part.run(s);
    });
    for (const auto& s : parts) {
      context.cancel.check();
      if (s) total->merge(nullptr, *s, {0, 1});
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
