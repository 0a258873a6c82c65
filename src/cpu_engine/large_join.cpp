#include "cpu_engine/large_join.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <query/detail/division_watch.hpp>
#include <query/detail/failure.hpp>
#include <query/errors.hpp>

#include "cpu_engine/join_partitions.hpp"
#include "cpu_engine/right_side.hpp"
#include "cpu_engine/table_estimate.hpp"
#include "ir/running.hpp"
#include "planner/column_forms.hpp"
#include "planner/cut_branch.hpp"
#include "runtime/run_history.hpp"
#include "runtime/source_rows.hpp"

namespace query::cpu {

using planner::stage;

namespace {

std::size_t without(std::size_t bytes, std::size_t taken) { return bytes - std::min(bytes, taken); }

const std::vector<planner::binding> table_has_none;

// The rows of a build side: all of them, side by side, where these and their hash table fit; else as far as they have been collected.
struct build_rows {
  bool fits = false;
  detail::table table;
  join_input apart;
  bool comes_again = false;
};

// The least memory that the result of a join takes, if it is collected: bytes, and more for each row of the build side.
struct result_size {
  std::uint64_t bytes = 0;
  std::size_t a_row = 0;
};

// row_bytes: of a build row, if it takes memory of its own.
bool has_room(const detail::logical& join, bool build_left, std::uint64_t rows, std::size_t row_bytes, result_size result,
              std::size_t room) {
  const double tables = static_cast<double>(join_table_bytes(join, build_left, rows));
  const double all = tables + static_cast<double>(rows) * static_cast<double>(row_bytes + result.a_row) + static_cast<double>(result.bytes);
  return fits_in(all, room);
}

// lies_there: the rows need not be collected.
build_rows collected(std::unique_ptr<pipeline> input, const detail::logical& join, bool build_left, std::size_t room, bool lies_there,
                     result_size result, const vertex_tasks& tasks) {
  pipeline& p = *input;
  const std::size_t width = p.row()->size;
  const auto fits = [&](std::uint64_t rows, std::size_t row_bytes) { return has_room(join, build_left, rows, row_bytes, result, room); };
  build_rows b;
  const auto all = p.source_rows();
  b.comes_again = all && !p.made_as_read();
  const std::size_t heap = b.apart.row_heap = row_heap_bytes(p);
  const bool no_copy = lies_there || (p.in_place() && p.as_tables().size() == 1);
  if (all && fits(*all, no_copy ? 0 : heap + (p.keeps_rows() ? width : 2 * width))) {
    try {
      if (!lies_there) b.table = collect_rest(p);
      b.fits = true;
      return b;
    } catch (const resource_error&) {  // rows own more than those of the sample
      if (!b.comes_again || !heap_charge::counts(*p.row(), tasks.pool()) || !can_be_partitioned(join)) throw;
      b.apart.rest = std::move(input);
      return b;
    }
  }
  if (!p.source_as_it_is() && !lies_there) {
    // Tests may leave few of the rows.
    const std::size_t rows_a_part = p.most_rows_a_part(), part_bytes = rows_a_part * width;
    // With room for the next window, of any number of threads; and at the end, too, so that this number decides nothing.
    const std::size_t most = std::max<std::size_t>(tasks.pool().limit() / 16 / part_bytes, 1);
    const auto fit = [&](std::size_t rows, std::size_t row_heap) {
      b.apart.row_heap = std::max(b.apart.row_heap, row_heap);
      return fits(rows + most * rows_a_part, 2 * width + row_heap);
    };
    const bool ended = collect_while_it_fits(p, parts_at_once(tasks.context(), part_bytes), fit, b.apart.first);
    if (ended && fit(rows_in(b.apart.first), row_heap_in(b.apart.first))) {
      b.fits = true;
      b.table = side_by_side(std::move(b.apart.first), p.row(), tasks);
      return b;
    }
  }
  b.apart.rest = std::move(input);
  return b;
}

// Errors name the join, whichever verb reads its rows.
template <class Call> auto as_join(const detail::logical& join, Call call) {
  try {
    const detail::division_watch watch;
    auto given = call();
    watch.check();
    return given;
  } catch (const detail::unplaced_error& e) {
    detail::fail_at(e, join);
  } catch (const resource_error& e) {
    const std::string what = ir::while_running(e.what(), join);
    if (what == e.what()) throw;
    throw resource_error(what);
  }
}

// The build side of a stage; nothing: it cannot be had so, as columns.
std::unique_ptr<pipeline> build_side_of(const stage& s, bool left_to_join, bool columns, runtime::run_context& context) {
  planner::branch table;
  table.table = s.build;
  table.row = s.build->row();
  const bool by_join = left_to_join || s.build->in_place;
  const planner::branch& b = by_join ? s.build->inputs.front() : table;
  const std::vector<planner::binding>& captures = by_join ? s.build->captures : table_has_none;
  if (!columns) return std::make_unique<pipeline>(b, captures, context, false, true);
  if (b.stages.empty() && b.prefilters.empty() && (b.table || b.source->view))
    return std::make_unique<pipeline>(b, captures, context, true, true);
  const auto all = planner::over_columns(b);
  return all ? std::make_unique<pipeline>(*all, captures, context, true, true) : nullptr;
}

}  // namespace

std::unique_ptr<rows_behind_join> behind_large_join(const planner::branch& b, const std::vector<planner::binding>& captures,
                                                    runtime::run_context& context) {
  if (!context.pool.limit()) return nullptr;
  const bool may = context.temp && !context.shared && !context.verify;
  std::size_t taken = 0;  // by joins before
  for (std::size_t i = 0; i < b.stages.size(); ++i) {
    const stage& s = b.stages[i];
    if (s.what != stage::kind::probe) continue;
    const detail::logical& join = *s.join;
    // The joins that follow may have no room either.
    const auto behind = [&](planner::vertex* v, const std::shared_ptr<runtime::kept_rows>& rows) {
      auto cut = std::make_unique<rows_behind_join>();
      cut->rest = b;
      (void)planner::cut_branch(cut->rest, i + 1, 0, v);
      cut->rows = std::dynamic_pointer_cast<made_tables>(rows);
      auto more = behind_large_join(cut->rest, captures, context);
      return more ? std::move(more) : std::move(cut);
    };
    if (const auto known = context.joined_apart.find({&join, b.number}); known != context.joined_apart.end())
      for (const auto& [v, rows] : context.tables)
        if (rows.kept == known->second) return behind(const_cast<planner::vertex*>(v), rows.kept);
    const bool left_to_join = context.left_to_joins.contains(s.build) && !context.tables.contains(s.build);
    if (!may && !left_to_join) continue;
    const std::size_t used = context.pool.used(), room = without(memory_left(context.pool), taken);
    build_rows build;
    if (left_to_join) {
      const runtime::profiled_run::scope now(context.profile.get(), s.build->number);
      const vertex_tasks build_tasks(context, s.build->captures);
      build = as_join(join, [&] {
        return collected(build_side_of(s, true, false, context), join, s.build_left, room, false, {}, build_tasks);
      });
      if (!build.fits && !can_be_partitioned(join)) {
        build.table = with_right_side(join, [&] {
          build.apart.first.emplace_back(collect_rest(*build.apart.rest));
          return side_by_side(std::move(build.apart.first), s.build->row(), build_tasks);
        });
        build.fits = true;
      }
      build.apart.vertex = s.build->number;
      if (build.fits) {
        taken += static_cast<std::size_t>(join_table_bytes(join, s.build_left, build.table.n));
        runtime::note_selectivity(s.build->inputs.front(), build.table.n, context);
        if (runtime::profiled_vertex* r = context.profile ? context.profile->at(s.build->number) : nullptr)
          r->gave(build.table.n, build.table.n * build.table.type->size);
        context.tables[s.build] = std::move(build.table);
        continue;
      }
    } else {  // its rows are there, or must be fetched
      const auto there = context.tables.find(s.build);
      if (there == context.tables.end() && !s.build->in_place) continue;
      const std::uint64_t rows =
          s.build->in_place ? rows_of_source(s.build->inputs.front(), context).value_or(0) : runtime::size_of(there->second);
      const std::size_t to_fetch = s.build->in_place || there->second.here() ? 0 : 2 * s.build->row()->size;
      if (!can_be_partitioned(join) || has_room(join, s.build_left, rows, to_fetch, {}, room)) {
        taken += static_cast<std::size_t>(join_table_bytes(join, s.build_left, rows));
        continue;
      }
      build.apart.rest = build_side_of(s, false, false, context);
      build.comes_again = build.apart.rest->source_rows() && !build.apart.rest->made_as_read();
    }
    const auto v = std::make_shared<planner::vertex>();
    v->node = &join;
    const std::shared_ptr<made_tables> rows = as_join(join, [&] {
      planner::branch probed = b;
      probed.stages.resize(i);
      probed.row = s.in;
      join_input probe;
      const std::size_t before = context.pool.used();
      // Semi and anti joins run no function but keys: over columns they copy no strings.
      std::unique_ptr<planner::branch> over_columns;
      if (join.functions.size() == 2 && s.how != planner::form::interpreted) over_columns = planner::over_columns(probed);
      const bool columns = s.how == planner::form::columns || over_columns;
      probe.rest = std::make_unique<pipeline>(over_columns ? *over_columns : probed, captures, context, columns, true);
      probe.row_heap = row_heap_bytes(*probe.rest);
      // Drop the collected rows: columns of rows that stay need no copies.
      if (columns && build.comes_again)
        if (auto all = build_side_of(s, left_to_join, true, context)) {
          build.apart.first.clear();
          build.apart.rest = std::move(all);
        }
      const std::size_t tables = context.pool.used() - std::min(before, context.pool.used());
      const runtime::counted_pieces counted(context, &join);
      return join_partitions(v, s.build_left, s.how == planner::form::interpreted, std::move(probe), std::move(build.apart),
                             without(without(context.pool.limit(), used), tables), vertex_tasks(context, captures));
    });
    context.tables[v.get()] = runtime::vertex_rows(rows);
    context.joined_apart[{&join, b.number}] = rows;
    return behind(v.get(), rows);
  }
  return nullptr;
}

runtime::vertex_rows join_as_memory_allows(const planner::vertex& v, runtime::run_context& context,
                                           function_ref<runtime::vertex_rows(const detail::table& build)> in_memory) {
  const vertex_tasks tasks(context, v.captures);
  const detail::logical& join = *v.node;
  const bool lies_there = v.over_columns && planner::is_bare_source(v.inputs[1]);
  if (!context.pool.limit() || !context.temp || context.shared || context.verify || !can_be_partitioned(join))
    return in_memory(lies_there ? detail::table() : collect_input(v, 1, tasks).table);
  const std::size_t room = memory_left(context.pool);
  // In memory the result is collected in buffers that grow, then put side by side.
  constexpr std::size_t copies = 3;
  result_size result{copies * rows_of_source(v.inputs[0], context).value_or(0) * join.row->size, 0};
  if (join.what == detail::verb::join) result.a_row = copies * join.row->size;
  auto right = std::make_unique<pipeline>(v.inputs[1], v.captures, context, false, true);
  build_rows build = collected(std::move(right), join, false, room, lies_there, result, tasks);
  if (build.fits) return in_memory(build.table);
  join_input probe;
  probe.rest = std::make_unique<pipeline>(v.inputs[0], v.captures, context, false, true);
  probe.row_heap = row_heap_bytes(*probe.rest);
  const std::shared_ptr<const planner::vertex> lives_on(std::shared_ptr<void>(), &v);
  auto rows = join_partitions(lives_on, false, v.interpreted, std::move(probe), std::move(build.apart), room, tasks);
  return runtime::vertex_rows(std::move(rows));
}

}  // namespace query::cpu
