#include "cpu_engine/partial_groups.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "cpu_engine/group_by.hpp"
#include "cpu_engine/group_partitions.hpp"
#include "cpu_engine/partial_group_pages.hpp"
#include "cpu_engine/stored_sequence.hpp"
#include "cpu_engine/value_bytes.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t most_tables = 64;  // of what a partition receives, made side by side
// So many groups in all tables are merged by partitions of their keys, side by side.
constexpr std::size_t merged_at_once = 1 << 14;
constexpr unsigned bits_of_merges = 6;
constexpr std::size_t tight_share = 4;  // of the session's memory is in use: runs become pages

// Is the state a value, or a few, whose bytes say all?
bool is_plain(const ir::aggregate_call& c, const ir::type* row) {
  switch (c.what) {
    case ir::aggregate_kind::count_distinct:
    case ir::aggregate_kind::quantile:
    case ir::aggregate_kind::collect:
    case ir::aggregate_kind::custom: return false;
    case ir::aggregate_kind::arg_min:
    case ir::aggregate_kind::arg_max: return c.argument->type->trivial && row->trivial;
    default: return !c.argument || c.argument->type->trivial;
  }
}

std::string stay(const std::vector<ir::aggregate_call>& calls, const ir::type* row) {
  for (const ir::aggregate_call& c : calls)
    if (!is_plain(c, row))
      return "the states of " + c.source->text + (ir::fixed_state(c.what) ? " own memory" : " hold all values");
  return "";
}

class partial_output final : public group_output {
 public:
  partial_output(const planner::vertex& v, runtime::run_context& context, std::size_t partitions)
      : keeper_(v, context), runs_(partitions) {}
  void take(std::size_t p, std::unique_ptr<group_table> groups, std::vector<std::uint64_t>) override {
    runs_[p].push_back(run_of(std::move(groups)));
    keeper_.keep(runs_[p].back());
  }
  runtime::vertex_rows rows(bool) override {
    std::vector<partial_groups::run> all;
    for (auto& of : runs_)
      for (auto& r : of) all.push_back(std::move(r));
    return runtime::vertex_rows(std::make_shared<partial_groups>(std::move(all), keeper_.store()));
  }

 private:
  group_keeper keeper_;
  std::vector<std::vector<partial_groups::run>> runs_;
};

partial_groups& received_by(const planner::vertex& v, runtime::run_context& context) {
  auto& all = dynamic_cast<partial_groups&>(*context.tables.at(v.inputs.front().table).kept);
  context.rows_read(all.size());
  return all;
}

}  // namespace

std::string why_rows_are_sent(const planner::vertex& v) {
  const detail::logical& n = *v.node;
  const detail::pipe& from = n.inputs.front();
  const ir::type* const row = from.native ? from.native->out : from.node->row;
  if (n.key && !n.key->trivial && !has_bytes(*n.key)) return "keys cannot be sent";
  if (v.group_function) return stay(v.group_function->calls, row);
  const ir::traced t = n.functions.back().trace();
  if (!t) return "its function is compiled only";
  const ir::group_analysis a = ir::plan_group_function(t, n.key, n.row);
  return a.plan ? stay(a.plan->calls, row) : a.reason;
}

const void* partial_groups::run::whole_keys() const {
  if (const auto* stored = std::get_if<stored_keys>(&keys)) return stored->whole();
  return std::get<rows_buffer>(keys).data();
}
std::uint64_t partial_groups::size() const {
  std::uint64_t n = 0;
  for (const run& r : runs) n += r.n;
  return n;
}
detail::table partial_groups::fetch(runtime::run_context&) { throw internal_error("query: states of groups were read as rows"); }

partial_groups::run run_of(std::unique_ptr<group_table> groups) {
  partial_groups::run r;
  r.n = groups->groups.size();
  r.states = groups->take_states();
  r.keys.emplace<stored_keys>(groups->groups.take_keys());
  return r;
}
std::unique_ptr<group_output> groups_to_send(const planner::vertex& v, runtime::run_context& context, std::size_t partitions) {
  return std::make_unique<partial_output>(v, context, partitions);
}
runtime::vertex_rows groups_to_send(std::unique_ptr<group_table> groups) {
  std::vector<partial_groups::run> runs;
  if (groups) runs.push_back(run_of(std::move(groups)));
  return runtime::vertex_rows(std::make_shared<partial_groups>(std::move(runs), nullptr));
}

// ---------------------------------------------------------------- runs that may leave memory
group_keeper::group_keeper(const planner::vertex& v, runtime::run_context& context) : v_(&v), pool_(&context.pool) {
  if (context.temp && pool_->limit()) store_ = std::make_shared<runtime::page_store>(*pool_, context.temp);
}

bool group_keeper::is_tight() const { return store_ && pool_->used() > pool_->limit() / tight_share; }

void group_keeper::keep(partial_groups::run& r) {
  if (!r.n || !is_tight()) return;
  const group_pages pages(*v_, *pool_);
  const auto kept = store_->make();
  const auto take = [&](std::size_t, runtime::row_pages page) { store_->add(kept, std::move(page)); };
  auto to = pages.writers(1, pages.form_of(*r.states), true, take);
  pages.write(r, to);
  to.front().flush();
  r.keys = {};
  r.states.reset();
  r.pages = kept;
}

// ---------------------------------------------------------------- rows as groups of one row
rows_as_groups::rows_as_groups(const detail::logical& n, const group_program& program, const function_calls& key,
                               runtime::buffer_pool& pool, const column_key* columns)
    : node_(&n), key_(&key), keys_(n.key, pool) {
  if (columns) key_columns_.emplace(*columns, pool);
  run_.keys.emplace<stored_keys>(n.key, pool, false);
  run_.states = program.states(pool);
  for (std::uint32_t i = 0; i < batch_rows; ++i) all_[i] = i;
}

void rows_as_groups::open(key_view keys, std::size_t n) {
  std::get<stored_keys>(run_.keys).append(keys, 0, {all_, n});
  for (std::size_t i = 0; i < n; ++i) ids_[i] = static_cast<std::uint32_t>(run_.n + i);
  run_.n += n;
  run_.states->grow_to(run_.n);
}

void rows_as_groups::push(const detail::row_block& b) {
  const std::size_t size = node_->functions[0].row->size;
  for (std::size_t from = 0; from < b.n; from += batch_rows) {
    const std::size_t n = std::min(batch_rows, b.n - from);
    const auto* const rows = static_cast<const std::byte*>(b.rows) + from * size;
    keys_.clear();
    key_->map(rows, nullptr, n, keys_.extend(n), scratch_);
    keys_.grow(n);
    const key_part keys = side_by_side(*node_->key, keys_.data());
    open({&keys, 1}, n);
    run_.states->update(ids_, rows, nullptr, n);
  }
}

void rows_as_groups::push(const column_batch& b) {
  open(key_columns_->run(b), b.n);
  run_.states->update(ids_, b);
}

// ---------------------------------------------------------------- pages
namespace {

// Calls f(run) for a run, or for each of the pages that it has become.
template <class F> void each_run(partial_groups::run& r, const group_pages& pages, const group_program& program, const F& f) {
  if (!r.pages) {
    if (r.n) f(r);
    return;
  }
  for (std::size_t i = 0; const auto page = runtime::page_store::read(r.pages, i); ++i) {
    partial_groups::run some = pages.read(*page, program);
    f(some);
  }
}

}  // namespace

void write_groups(const planner::vertex& v, const runtime::vertex_rows& groups, std::size_t receivers, runtime::bucket_sink take,
                  runtime::run_context& context) {
  std::vector<partial_groups::run>& runs = dynamic_cast<partial_groups&>(*groups.kept).runs;
  const group_pages pages(v, context.pool);
  const group_program program(*v.node, v.group_function.get());
  const std::uint64_t form = pages.form_of(*program.states(context.pool));
  const bool repeatable = pages.are_repeatable();
  const vertex_tasks tasks(context, v.captures);
  // Where memory is short, few at a time.
  const std::size_t at_once = context.pool.limit() ? static_cast<std::size_t>(std::max(1, context.scheduler.concurrency())) : runs.size();
  for (std::size_t first = 0; first < runs.size(); first += at_once) {
    const std::size_t some = std::min(at_once, runs.size() - first);
    std::vector<std::vector<runtime::row_pages>> written(some);
    for (auto& to : written) to.resize(receivers);
    tasks.for_each(some, [&](std::size_t i) {
      const auto keep = [&](std::size_t r, runtime::row_pages page) {
        if (some == 1) take(r, std::move(page));
        else written[i][r].push_back(std::move(page.front()));
      };
      auto to = pages.writers(receivers, form, repeatable, keep);
      each_run(runs[first + i], pages, program, [&](partial_groups::run& r) { pages.write(r, to); });
      for (group_page_writer& w : to) w.flush();
      runs[first + i] = {};
    });
    for (auto& by_run : written)
      for (std::size_t r = 0; r < receivers; ++r)
        if (!by_run[r].empty()) take(r, std::move(by_run[r]));
  }
}

runtime::vertex_rows read_groups(const planner::vertex& v, runtime::page_feed& from, runtime::run_context& context) {
  const group_program program(*v.node, v.group_function.get());
  const group_pages pages(v, context.pool);
  group_keeper keeper(v, context);
  std::vector<partial_groups::run> runs;
  const vertex_tasks tasks(context, std::vector<detail::binding>{});
  // By what the groups take, not by what memory has left now: how they are merged decides their order and the last bits of sums, which have
  // to be the same when they are computed again. Their tables take several times what their pages do.
  constexpr std::uint64_t tables_to_pages = 6;
  const bool may_leave = v.node->key && keeper.store() && from.bytes() > context.pool.limit() / tables_to_pages;
  // All in one file, if they go to one.
  partial_groups::run together;
  const auto take = [&](std::size_t, runtime::row_pages page) { keeper.store()->add(together.pages, std::move(page)); };
  std::vector<group_page_writer> to;
  for (auto some = from.next(); !some.empty(); some = from.next()) {
    const std::size_t before = runs.size();
    runs.resize(before + some.size());
    tasks.for_each(some.size(), [&](std::size_t p) { runs[before + p] = pages.read(*some[p], program); });
    if (!may_leave) continue;
    if (to.empty()) {
      together.pages = keeper.store()->make();
      to = pages.writers(1, pages.form_of(*runs.front().states), true, take);
    }
    for (partial_groups::run& r : runs) {
      pages.write(r, to);
      together.n += r.n;
    }
    runs.clear();
  }
  if (!to.empty()) {
    to.front().flush();
    runs.push_back(std::move(together));
  }
  return runtime::vertex_rows(std::make_shared<partial_groups>(std::move(runs), keeper.store()));
}

// ---------------------------------------------------------------- receivers
namespace {

// Groups that memory may have no room for: put apart by their keys, and then merged one partition after the other. In each, as ever, in
// the order of runs.
runtime::vertex_rows merge_apart(const planner::vertex& v, partial_groups& in, const group_program& program, const function_calls& key,
                                 runtime::run_context& context) {
  constexpr std::size_t least = 16;
  const group_pages pages(v, context.pool);
  std::vector<runtime::page_store::handle> apart;
  for (std::size_t i = 0; i < least; ++i) apart.push_back(in.store->make());
  {
    const auto take = [&](std::size_t to, runtime::row_pages page) { in.store->add(apart[to], std::move(page)); };
    auto to = pages.writers(apart.size(), pages.form_of(*program.states(context.pool)), true, take);
    for (partial_groups::run& r : in.runs) {
      context.cancel.check();
      each_run(r, pages, program, [&](partial_groups::run& some) { pages.write(some, to, true); });
      r = {};
    }
    for (group_page_writer& w : to) w.flush();
  }
  rows_buffer out(v.node->row, context.pool);
  // Results may be too many, too.
  std::shared_ptr<stored_sequence> beyond;
  std::optional<stored_sequence::writer> to_beyond;
  if (stored_sequence::can_keep(v.node->row) && !context.shared) {
    beyond = std::make_shared<stored_sequence>(v.node->row, nullptr, 1, context);
    to_beyond.emplace(*beyond, 0);
  }
  for (runtime::page_store::handle& p : apart) {
    group_table table(*v.node, program, key, context.pool);
    const runtime::page_store::handle all = std::exchange(p, nullptr);
    for (std::size_t i = 0; const auto page = runtime::page_store::read(all, i); ++i) {
      if (i) runtime::page_store::drop(all, i - 1);
      context.cancel.check();
      const partial_groups::run r = pages.read(*page, program);
      const auto* const keys = static_cast<const std::byte*>(r.whole_keys());
      for (std::size_t from = 0; from < r.n; from += batch_rows)
        table.merge_states(keys + from * v.node->key->size, *r.states, from, std::min(batch_rows, r.n - from));
    }
    table.finish(out);
    if (!to_beyond) continue;
    to_beyond->push({out.data(), out.size(), 0, true});
    out.clear();
  }
  if (!to_beyond) return std::move(out).to_table();
  to_beyond->finish();
  beyond->finish(context);
  return runtime::vertex_rows(std::move(beyond));
}

}  // namespace

runtime::vertex_rows merge_groups(const planner::vertex& v, runtime::run_context& context) {
  const auto bindings = context.bind(v.captures);
  const detail::binding_scope scope(bindings);  // merging and finishing call functions too
  const detail::logical& n = *v.node;
  partial_groups& in = received_by(v, context);
  const group_program program(n, v.group_function.get());
  const function_calls key(n.functions[0], v.interpreted, false);
  if (std::ranges::any_of(in.runs, [](const partial_groups::run& r) { return r.pages != nullptr; }))
    return merge_apart(v, in, program, key, context);
  const vertex_tasks tasks(context, bindings);
  // As many as there are runs to fill them, whatever threads there are.
  std::vector<std::unique_ptr<group_table>> tables(std::min(most_tables, in.runs.size()));
  tasks.for_each(tables.size(), [&](std::size_t t) {
    auto table = std::make_unique<group_table>(n, program, key, context.pool);
    const detail::stop_point stop;
    for (std::size_t r = in.runs.size() * t / tables.size(); r < in.runs.size() * (t + 1) / tables.size(); ++r) {
      const auto* const keys = static_cast<const std::byte*>(in.runs[r].whole_keys());
      for (std::size_t from = 0; from < in.runs[r].n; from += batch_rows) {
        stop.check();
        table->merge_states(keys + from * n.key->size, *in.runs[r].states, from, std::min(batch_rows, in.runs[r].n - from));
      }
      in.runs[r] = {};
    }
    tables[t] = std::move(table);
  });
  std::size_t groups = 0;
  for (const auto& t : tables) groups += t->groups.size();
  if (tables.size() > 1 && groups > merged_at_once) {
    group_input input{.tables = {}, .rows = nullptr, .order_bits = bits_of_merges};
    for (auto& t : tables) input.tables.push_back({std::move(t), input.tables.size()});
    return group_partitioned(v, std::move(input), context, {}, program, key, nullptr);
  }
  std::unique_ptr<group_table> all;
  for (auto& t : tables) {
    context.cancel.check();
    if (all) all->merge(*t);
    else all = std::move(t);
  }
  rows_buffer out(n.row, context.pool);
  if (all) all->finish(out);
  return std::move(out).to_table();
}

runtime::vertex_rows merge_aggregates(const planner::vertex& v, runtime::run_context& context) {
  const auto bindings = context.bind(v.captures);
  const detail::binding_scope scope(bindings);  // merging and finishing call functions too
  std::unique_ptr<group_states> total;
  for (partial_groups::run& r : received_by(v, context).runs) {
    if (!total) {
      total = group_program(*v.node, v.group_function.get()).states(context.pool);
      total->grow_to(1);
    }
    total->merge(nullptr, *r.states, {0, r.n});
  }
  return aggregated(*v.node, std::move(total), context);
}

}  // namespace query::cpu
