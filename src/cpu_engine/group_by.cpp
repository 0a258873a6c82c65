#include "cpu_engine/group_by.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <query/errors.hpp>

#include "cpu_engine/group_order.hpp"
#include "cpu_engine/group_partitions.hpp"
#include "cpu_engine/group_results.hpp"
#include "cpu_engine/group_sample.hpp"
#include "cpu_engine/partial_groups.hpp"
#include "cpu_engine/perfect_hash_groups.hpp"
#include "cpu_engine/pipeline.hpp"
#include "ir/owning_states.hpp"

namespace query::cpu {

using detail::logical;
using detail::row_block;

namespace {

constexpr std::size_t most_tables = 64;
// A part with more than so many groups and fewer than so many rows a group says that pre-aggregation does not pay.
constexpr std::size_t many_groups = 1 << 15, rows_a_group_of_part = 4;
// So many groups in all tables are merged by partitions of their keys, side by side.
constexpr std::size_t merged_at_once = 1 << 14;
constexpr unsigned bits_of_merges = 6, bits_of_streams = 7;
static_assert(few_groups * most_tables <= merged_at_once);
// Of rows that come as columns: so many rows for each group of a table, or fewer tables.
constexpr std::size_t fewest_tables = 16;
constexpr double rows_a_table_group = 64;
// Beyond so many groups with fewer rows each, rows are put apart before any table sees them: the table of a partition stays in the cache,
// where those of parts are too large for it, see most groups, and have to be merged. States that keep the values of their rows are too
// large much earlier, and rows that are put apart take no more memory than they do.
struct apart_beyond {
  double groups, rows_a_group;
};
constexpr apart_beyond numbers_apart{many_groups, 256}, values_apart{1 << 10, 1 << 14};
// Where a group has a larger share, one task would have too many of the rows: tables share them, unless they would hardly be smaller.
constexpr double largest_share = 1.0 / 32, rows_of_uneven_groups = 32;

apart_beyond put_apart_beyond(const planner::vertex& v) {
  if (!v.group_function) return v.node->states_own_memory ? values_apart : numbers_apart;
  const bool values = std::ranges::any_of(v.group_function->calls, [](const ir::aggregate_call& c) { return !ir::fixed_state(c.what); });
  return values ? values_apart : numbers_apart;
}

// Where rows go once the tables have their share of the memory.
class rows_beyond_memory {
 public:
  rows_beyond_memory(const planner::vertex& v, const pipeline& p, std::size_t parts, const function_calls& key, const column_key* columns)
      : v_(&v),
        pipeline_(&p),
        parts_(parts),
        key_(&key),
        columns_(columns),
        pool_(&p.context().pool),
        before_(pool_->used()),
        may_(groups_may_leave_memory(*v.node, p.context())),
        states_grow_(may_ && v.group_function && ir::keeps_owned_memory(*v.group_function, *v.node->functions[0].row)) {}

  bool begun() const { return full_.load(std::memory_order_relaxed); }
  bool states_grow() const { return states_grow_; }
  std::size_t row_bytes() const { return v_->node->functions[0].row->size; }
  // Have tables and others what they should have at most?
  bool full() {
    if (!may_ || begun()) return begun();
    const std::size_t used = pool_->used(), limit = pool_->limit();
    if (used <= limit - limit / least_left && (used <= before_ || used - before_ <= (limit - std::min(before_, limit)) / table_share))
      return false;
    full_.store(true, std::memory_order_relaxed);
    return true;
  }
  stored_group_rows& rows() {
    std::call_once(made_, [&] {
      const auto rows = pipeline_->source_rows();
      const unsigned bits = rows ? group_partition_bits(*v_->node, *rows, 0, pipeline_->context()).by_memory : bits_of_streams;
      rows_ = std::make_unique<stored_group_rows>(*v_, *pipeline_, std::max(bits, bits_of_merges), parts_, true, *key_, columns_);
    });
    return *rows_;
  }
  std::unique_ptr<stored_group_rows> take() && { return std::move(rows_); }

 private:
  static constexpr std::size_t table_share = 4, least_left = 4;  // of the session's memory

  const planner::vertex* v_;
  const pipeline* pipeline_;
  std::size_t parts_;
  const function_calls* key_;
  const column_key* columns_;
  runtime::buffer_pool* pool_;
  std::size_t before_;
  bool may_, states_grow_;
  std::atomic<bool> full_ = false;
  std::once_flag made_;
  std::unique_ptr<stored_group_rows> rows_;
};

// The rows of a part: to its table while there is room, then to the others.
class group_sink final : public detail::batch_sink, public column_sink {
 public:
  group_sink(group_table* t, std::size_t part, rows_beyond_memory& beyond) : table_(t), part_(part), beyond_(&beyond) {}
  void push(const detail::row_block& b) override {
    const std::size_t most = beyond_->states_grow() ? std::min(batch_rows, b.n) : b.n;  // as what states keep of a row may be large
    for (std::size_t from = 0; from < b.n; from += most) {
      detail::row_block some = b;
      some.rows = static_cast<std::byte*>(b.rows) + from * beyond_->row_bytes();
      some.n = std::min(most, b.n - from);
      some.first = b.first + from;
      if (leaves()) writer_->push(some);
      else table_->update(some.rows, some.n);
    }
  }
  void push(const column_batch& b) override {
    if (leaves()) writer_->push(b);
    else table_->update(b);
  }
  void finish() {
    if (writer_) writer_->finish();
  }

 private:
  bool leaves() {
    if (writer_) return true;
    if (table_ && !beyond_->begun()) {
      const std::size_t size = table_->groups.size() + table_->heap_bytes();
      if (size == looked_at_) return false;
      looked_at_ = size;
      if (!beyond_->full()) return false;
    }
    writer_.emplace(beyond_->rows(), part_);
    return true;
  }

  group_table* table_;  // null: there is no room for another
  std::size_t part_;
  rows_beyond_memory* beyond_;
  std::size_t looked_at_ = 0;  // of the table, when memory was: groups, and bytes of states
  std::optional<stored_group_rows::writer> writer_;
};

// Whether the first part has few enough groups for tables of parts. Memory must not decide it: rows that its table had no room for
// count, too.
bool pre_aggregation_pays(const group_table* table, stored_group_rows* others, std::size_t many) {
  std::size_t groups = table ? table->groups.size() : 0, rows = table ? table->rows_seen : 0;
  if (others) {
    const std::size_t stored = static_cast<std::size_t>(others->rows());
    rows += stored;
    const std::size_t enough = std::max(many, rows / rows_a_group_of_part) + 1;
    if (groups < enough && groups + stored >= enough) groups += others->count_new_groups(table, enough - groups);
  }
  return groups <= many || groups <= rows / rows_a_group_of_part;
}

// Whether a partition has many more rows than groups, by the first of its parts: then it sends groups. Part by part, keys may hardly come
// twice, though each comes often in the whole partition.
bool sends_few_groups(const group_table& first, std::size_t parts) {
  const double rows = static_cast<double>(first.rows_seen);
  const double groups = groups_of_all(static_cast<double>(first.groups.size()), rows);
  return groups * rows_a_group_of_part <= rows * static_cast<double>(parts);
}

// ---------------------------------------------------------------- keys that are numbers of groups
std::size_t bytes_of_states(const planner::vertex& v) {
  if (!v.group_function) return v.node->aggregate.state_size;
  // A number and a count, or up to two values, and what becomes of them, such as a whole row.
  std::size_t bytes = 0;
  for (const ir::aggregate_call& c : v.group_function->calls)
    bytes += 32 + (c.value ? 2 * c.value->size : 0) + c.source->type->size + (c.seed ? c.seed->type->size : 0);
  return std::max<std::size_t>(bytes, 1);
}

// Lanes of at least so many rows as the range has keys, but enough of them for 16 threads.
std::size_t lanes_of(double rows, const key_range& range) {
  return std::clamp(static_cast<std::size_t>(rows / static_cast<double>(range.size)), fewest_tables, most_tables);
}

// Memory does not decide what the result is: where it has no room, tables and files give the same groups in the same order
// (group_order.hpp).
bool lanes_fit(std::size_t bytes, const logical& n, const runtime::run_context& context) {
  constexpr std::size_t share = 4, share_of_rest = 2;
  const runtime::buffer_pool& pool = context.pool;
  if (!groups_may_leave_memory(n, context)) return true;
  return bytes <= pool.limit() / share && bytes <= (pool.limit() - std::min(pool.used(), pool.limit())) / share_of_rest;
}

class lane_sink final : public detail::batch_sink, public column_sink {
 public:
  explicit lane_sink(perfect_hash_groups& lane) : lane_(&lane) {}
  void push(const row_block& b) override { lane_->update(b.rows, b.n); }
  void push(const column_batch& b) override { lane_->update(b); }

 private:
  perfect_hash_groups* lane_;
};

runtime::vertex_rows group_lanes(pipeline& p, const perfect_hash_groups::shared& of, const planner::vertex& v) {
  p.context().has_perfect_hash(of.range.size);
  std::vector<std::unique_ptr<perfect_hash_groups>> lanes(*p.parts());
  p.run_all([&](const pipeline::part& part) {
    lanes[part.index] = std::make_unique<perfect_hash_groups>(of);
    lane_sink sink(*lanes[part.index]);
    if (of.columns) part.run_columns(sink);
    else part.run(sink);
  });
  return merged_lanes(v, std::move(lanes), of, p.sources(), p.context());
}

}  // namespace

runtime::vertex_rows group_rows(const planner::vertex& v, runtime::run_context& context) {
  if (planner::merges_states(v)) return merge_groups(v, context);
  const logical& n = *v.node;
  const auto bindings = context.bind(v.captures);
  const detail::binding_scope scope(bindings);  // merging and finishing call functions too
  pipeline p(v.inputs[0], v.captures, context, v.over_columns, !v.over_columns);
  const planner::column_schema* const columns = v.over_columns ? p.columns() : nullptr;
  const bool sends = planner::sends_states(v);
  group_program program(n, v.group_function.get(), columns, v.gives_columns != nullptr);
  if (sends) program.saves_states();
  const function_calls key(n.functions[0], v.interpreted, false);
  std::optional<column_key> key_columns;
  if (columns) key_columns.emplace(n.functions[0], *columns, &n);

  p.limit_parts(most_tables);
  const column_key* const by_columns = key_columns ? &*key_columns : nullptr;
  const bool may_be_perfect = may_have_perfect_hash(v, context);
  double expected = 0;  // groups, by a sample of columns; 0: nobody knows
  // Their order is then that of as many as a perfect hash may have of so many rows.
  const auto groups_of_order = [&] {
    return expected > 0 || !may_be_perfect ? expected : static_cast<double>(p.source_rows().value_or(0)) / group_sample::least_rows_a_key;
  };
  const auto bits_of_order = [&] { return may_be_perfect ? order_bits(groups_of_order()) : bits_of_merges; };
  const auto partitioned = [&](group_input input) {
    return group_partitioned(v, std::move(input), context, p.sources(), program, key, by_columns);
  };
  // Rows that no table has seen, put apart in the order in which they come; some of the first part's may have been.
  const auto put_apart = [&](std::vector<part_groups> tables, std::unique_ptr<stored_group_rows> begun) {
    const group_partition_bits bits(n, *p.source_rows(), groups_of_order(), context);
    const bool tight = bits.tight || begun;
    group_input input{
        .tables = std::move(tables), .rows = std::move(begun), .order_bits = bits.of_order, .tight = tight, .groups = expected};
    if (!input.rows)
      input.rows = std::make_unique<stored_group_rows>(v, p, bits.tight ? bits.by_memory : bits.of_order, p.parts().value_or(1),
                                                       bits.tight || v.ordered, key, by_columns);
    std::size_t at_once = most_tables;
    if (tight) {
      const std::size_t writers = input.rows->store().limit_writers();
      if (writers < static_cast<std::size_t>(std::max(1, context.scheduler.concurrency()))) at_once = writers;
    }
    while (p.run_some(at_once, [&](const pipeline::part& part) {
      stored_group_rows::writer to(*input.rows, part.index);
      if (columns) part.run_columns(to);
      else part.run(to);
      to.finish();
    })) {
    }
    return partitioned(std::move(input));
  };
  // The same where partitions send groups: all rows that no table has seen are sent as groups of one row.
  const auto one_by_one = [&](std::vector<part_groups> tables) {
    std::vector<partial_groups::run> runs;
    group_keeper keeper(v, context);
    for (part_groups& t : tables) runs.push_back(run_of(std::move(t.table)));
    const std::size_t seen = runs.size();
    runs.resize(seen + p.parts().value_or(1));
    p.run_all([&](const pipeline::part& part) {
      rows_as_groups rows(n, program, key, context.pool, by_columns);
      if (columns) part.run_columns(rows);
      else part.run(rows);
      runs[seen + part.index] = rows.take();
      keeper.keep(runs[seen + part.index]);
    });
    return runtime::vertex_rows(std::make_shared<partial_groups>(std::move(runs), keeper.store()));
  };
  const bool sampled =
      (columns || (may_be_perfect && !p.made_as_read() && may_be_seen_twice(v))) && p.source_rows().value_or(0) > group_sample::least_rows;
  bool ranged = false;
  if (sampled) {
    group_sample sample(n, key, by_columns, context.pool);
    const double rows = static_cast<double>(*p.source_rows()), groups = sample.look(p) ? sample.groups() : 0;
    if (columns) expected = std::min(groups, rows);
    const std::size_t state_bytes = bytes_of_states(v);
    const std::optional<key_range> range = groups && may_be_perfect ? sample.range(state_bytes) : std::nullopt;
    ranged = range.has_value();
    if (range) {
      p.limit_parts(lanes_of(sample.rows(), *range));
      // Keys outside of the range stay in memory, too: an eighth of the rows may have others, of which the sample has seen none.
      const std::size_t outside = static_cast<std::size_t>(sample.rows() / 8) * (n.key->size + state_bytes + 16);
      if (lanes_fit(*p.parts() * perfect_hash_groups::bytes(*range, state_bytes) + outside, n, context))
        return group_lanes(p, {&n, &program, &key, by_columns, &context.pool, *range, bits_of_order()}, v);
    } else if (columns) {
      if (sends && groups > many_groups && groups * rows_a_group_of_part > rows) return one_by_one({});
      const apart_beyond apart = put_apart_beyond(v);
      if (groups > apart.groups && groups * (sample.largest() > largest_share ? rows_of_uneven_groups : apart.rows_a_group) > rows)
        return put_apart({}, nullptr);
      const double tables = rows / (rows_a_table_group * std::max(groups, 1.0));
      p.limit_parts(std::clamp(static_cast<std::size_t>(std::min<double>(tables, most_tables)), fewest_tables, most_tables));
    }
  }
  std::vector<std::unique_ptr<group_table>> tables(p.parts() ? std::max<std::size_t>(1, *p.parts()) : most_tables);
  rows_beyond_memory beyond(v, p, tables.size(), key, by_columns);
  const auto run = [&](const pipeline::part& part) {
    auto& t = tables[part.index % tables.size()];
    if (!t && !beyond.full()) t = std::make_unique<group_table>(n, program, key, context.pool, by_columns);
    group_sink sink(t.get(), part.index, beyond);
    if (columns) part.run_columns(sink);
    else part.run(sink);
    sink.finish();
  };
  // Those of a window of parts, from `first` on.
  const auto tables_by_part = [&](std::size_t first) {
    std::vector<part_groups> all;
    for (std::size_t i = 0; i < tables.size(); ++i)
      if (auto& t = tables[(first + i) % tables.size()]) all.push_back({std::move(t), first + i});
    return all;
  };
  // Rows that tables had no room for; the result is in the order that it has where they have.
  const auto all_by_part = [&](std::vector<part_groups> known) {
    group_input input{.tables = std::move(known), .rows = std::move(beyond).take(), .by_part = true, .tight = true};
    if (may_be_perfect) {
      input.order_bits = bits_of_order();
      input.few = few_groups;
      input.few_in_all = true;
    } else if (p.parts().value_or(1) > 1) {
      input.order_bits = bits_of_merges;
      input.few = merged_at_once;
    }
    return partitioned(std::move(input));
  };
  // The first part tells whether tables a part pay: by half of its rows, where rows are wide and parts shorter.
  const std::size_t many =
      p.source_rows().value_or(0) < part_rows ? many_groups : std::clamp(p.rows_a_part() / 2, few_groups, many_groups);
  if (!(sampled && columns) && !ranged && p.run_some(1, run) && p.source_rows() && tables.size() > 1 &&
      !pre_aggregation_pays(tables[0].get(), beyond.begun() ? &beyond.rows() : nullptr, many)) {
    if (sends && !beyond.begun() && !sends_few_groups(*tables[0], p.parts().value_or(1))) return one_by_one(tables_by_part(0));
    return put_apart(tables_by_part(0), std::move(beyond).take());
  }
  if (p.source_rows()) {
    p.run_all(run);
    if (beyond.begun()) return all_by_part(tables_by_part(0));
    std::size_t groups = 0;
    for (const auto& t : tables) groups += t ? t->groups.size() : 0;
    if (tables.size() > 1 && groups > merged_at_once)
      return partitioned({.tables = tables_by_part(0), .rows = nullptr, .order_bits = bits_of_order()});
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
    std::size_t first = p.next_part();
    for (; !beyond.full() && p.run_some(most_tables, run) && !beyond.begun(); first = p.next_part()) merge_window(first);
    if (beyond.begun()) {
      std::vector<part_groups> known = tables_by_part(first);
      if (all) known.insert(known.begin(), {std::move(all), first ? first - 1 : 0});
      while (p.run_some(most_tables, run)) {
      }
      return all_by_part(std::move(known));
    }
  }
  if (sends) return groups_to_send(std::move(all));
  if (may_be_perfect && all && all->groups.size() > few_groups) {
    if (all->groups.size() > merged_at_once) {
      group_input input{.tables = {}, .rows = nullptr, .order_bits = bits_of_order()};
      input.tables.push_back({std::move(all), 0});
      return partitioned(std::move(input));
    }
    const auto make_table = [&] { return std::make_unique<group_table>(n, program, key, context.pool, by_columns); };
    all = in_order_of_hashes(std::move(all), make_table, n, bits_of_order());
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

detail::table aggregated(const logical& n, std::unique_ptr<group_states> total, runtime::run_context& context) {
  if (!total) {  // an expression holds where there are rows (detail/aggregates_of_all.hpp)
    total = group_program(n, nullptr).states(context.pool);
    total->grow_to(1);
  }
  rows_buffer out(n.row, context.pool);
  const std::int64_t no_key = 0;
  total->finish(&no_key, 0, 1, out.extend(1));
  out.grow(1);
  return std::move(out).to_table();
}

runtime::vertex_rows aggregate_rows(const planner::vertex& v, runtime::run_context& context) {
  if (planner::merges_states(v)) return merge_aggregates(v, context);
  const logical& n = *v.node;
  const auto bindings = context.bind(v.captures);
  const detail::binding_scope scope(bindings);
  pipeline p(v.inputs[0], v.captures, context, v.over_columns);
  const planner::column_schema* const columns = v.over_columns ? p.columns() : nullptr;
  group_program program(n, v.group_function.get(), columns);
  if (planner::sends_states(v)) program.saves_states();
  else if (context.pool.limit() && context.temp && !context.shared) program.spills(context);
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
    for (auto& s : parts) {
      context.cancel.check();
      if (s) total->merge(nullptr, *s, {0, 1});
      s.reset();
    }
    if (!more || known) break;
  }
  if (!any) total = nullptr;
  if (!planner::sends_states(v)) return aggregated(n, std::move(total), context);
  std::vector<partial_groups::run> runs;
  if (total) runs.push_back({{}, std::move(total), 1});
  return runtime::vertex_rows(std::make_shared<partial_groups>(std::move(runs), nullptr));
}

}  // namespace query::cpu
