#include "cpu_engine/partial_groups.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "cpu_engine/group_by.hpp"
#include "cpu_engine/group_partitions.hpp"
#include "cpu_engine/padding.hpp"
#include "cpu_engine/value_bytes.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t most_tables = 64;  // of what a partition receives, made side by side
// So many groups in all tables are merged by partitions of their keys, side by side.
constexpr std::size_t merged_at_once = 1 << 14;
constexpr unsigned bits_of_merges = 6;

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
  explicit partial_output(std::size_t partitions) : runs_(partitions) {}
  void take(std::size_t p, std::unique_ptr<group_table> groups, std::vector<std::uint64_t>) override {
    runs_[p].push_back(run_of(std::move(groups)));
  }
  runtime::vertex_rows rows(bool) override {
    std::vector<partial_groups::run> all;
    for (auto& of : runs_)
      for (auto& r : of) all.push_back(std::move(r));
    return runtime::vertex_rows(std::make_shared<partial_groups>(std::move(all)));
  }

 private:
  std::vector<std::vector<partial_groups::run>> runs_;
};

// How states are kept, by compiled code or by expressions, and their bytes. Each page begins with it, as each process chooses its forms.
std::uint64_t form_of(const planner::vertex& v, const group_states& states) {
  return states.state_bytes() * 2 + (v.group_function ? 1 : 0);
}

// Do the same groups, made again, have the same bytes? Compiled code copies values into its states with the bytes that none decides.
bool are_repeatable(const planner::vertex& v) {
  const detail::logical& n = *v.node;
  if (n.key && !padding(*n.key).known()) return false;
  const detail::pipe& from = n.inputs.front();
  const ir::type* const row = from.native ? from.native->out : from.node->row;
  const auto alike = [&](const std::vector<ir::aggregate_call>& calls, bool compiled) {
    const auto known = [&](const ir::type* t) {
      if (!t) return true;
      const padding unused(*t);
      return unused.known() && !(compiled && unused);
    };
    return std::ranges::all_of(calls, [&](const ir::aggregate_call& c) {
      switch (c.what) {
        case ir::aggregate_kind::first:
        case ir::aggregate_kind::last: return known(c.argument ? c.argument->type : row);
        case ir::aggregate_kind::arg_min:
        case ir::aggregate_kind::arg_max: return known(c.value) && known(row);
        case ir::aggregate_kind::min:
        case ir::aggregate_kind::max: return known(c.value);
        default: return true;
      }
    });
  };
  if (v.group_function) return alike(v.group_function->calls, false);
  const ir::traced t = n.functions.back().trace();
  if (!t) return false;
  const ir::group_analysis a = ir::plan_group_function(t, n.key, n.row);
  return a.plan && alike(a.plan->calls, true);
}

// Pages for one receiver.
class page_writer {
 public:
  page_writer(runtime::buffer_pool& pool, std::uint64_t form, bool repeatable) : pool_(&pool), form_(form), repeatable_(repeatable) {}
  std::byte* room(std::size_t bytes) {
    if (rows_ && bytes_.size() + bytes > runtime::page_bytes) flush();
    const std::size_t at = bytes_.size();
    bytes_.resize(at + bytes);
    ++rows_;
    return bytes_.data() + at;
  }
  void flush() {
    if (!rows_) return;
    runtime::row_page page;
    page.bytes = pool_->allocate(sizeof form_ + bytes_.size());
    page.rows = rows_;
    page.repeatable = repeatable_;
    std::memcpy(page.bytes.data(), &form_, sizeof form_);
    std::memcpy(page.bytes.as<std::byte>() + sizeof form_, bytes_.data(), bytes_.size());
    pages_.push_back(std::move(page));
    bytes_.clear();
    rows_ = 0;
  }
  runtime::row_pages take() {
    flush();
    return std::move(pages_);
  }

 private:
  runtime::buffer_pool* pool_;
  std::uint64_t form_;
  bool repeatable_;
  std::vector<std::byte> bytes_;
  std::size_t rows_ = 0;
  runtime::row_pages pages_;
};

void write_run(const planner::vertex& v, partial_groups::run& r, std::vector<page_writer>& to) {
  const std::size_t state = r.states->state_bytes();
  if (!v.node->key) {
    for (std::size_t i = 0; i < r.n; ++i) r.states->save(i, to.front().room(state));
    return;
  }
  const ir::type& key = *v.node->key;
  const padding unused(key);
  const key_equality equality = equality_of(v.node->keys);
  const auto* keys = static_cast<const std::byte*>(r.whole_keys());
  std::uint64_t hashes[batch_rows];
  const detail::stop_point stop;
  for (std::size_t from = 0; from < r.n; from += batch_rows) {
    stop.check();
    const std::size_t n = std::min(batch_rows, r.n - from);
    hash_keys(key, keys + from * key.size, n, hashes, equality);
    for (std::size_t i = 0; i < n; ++i) {
      const std::byte* const k = keys + (from + i) * key.size;
      const std::size_t bytes = bytes_of(key, k);
      std::byte* const at = to[partition_of(hashes[i], to.size())].room(bytes + state);
      (void)write_bytes(key, k, at);
      if (unused) unused.clear(at, 1);
      r.states->save(from + i, at + bytes);
    }
  }
}

// A page may come from another process.
bool is_whole(const ir::type* key, const runtime::row_page& page, std::size_t state) {
  const auto* from = page.bytes.as<const std::byte>();
  const std::byte* const end = from + page.bytes.size();
  if (page.bytes.size() < sizeof(std::uint64_t)) return false;
  from += sizeof(std::uint64_t);
  const auto left = [&] { return static_cast<std::size_t>(end - from); };
  if (!key || key->trivial) {
    const std::size_t each = state + (key ? key->size : 0);
    return each ? page.rows == left() / each : page.rows <= 1;
  }
  if (page.rows > left()) return false;
  for (std::uint64_t i = 0; i < page.rows; ++i, from += state)
    if (!(from = end_of_bytes(*key, from, end)) || left() < state) return false;
  return true;
}

partial_groups::run read_page(const planner::vertex& v, const runtime::row_page& page, const group_program& program,
                              runtime::buffer_pool& pool) {
  partial_groups::run r;
  r.n = page.rows;
  r.states = program.states(pool);
  const std::size_t state = r.states->state_bytes();
  if (!is_whole(v.node->key, page, state)) throw cluster_error("cluster: a page of groups is damaged");
  r.states->grow_to(r.n);
  const auto* from = page.bytes.as<const std::byte>();
  std::uint64_t form = 0;
  std::memcpy(&form, from, sizeof form);
  from += sizeof form;
  if (form != form_of(v, *r.states)) throw internal_error("query: states of groups come in a form that is not this partition's");
  if (!v.node->key) {
    for (std::size_t i = 0; i < r.n; ++i, from += state) r.states->load(i, from);
    return r;
  }
  const ir::type& type = *v.node->key;
  rows_buffer keys(&type, pool);
  auto* const at = static_cast<std::byte*>(keys.extend(r.n));
  if (!type.trivial) type.life.construct(at, r.n);
  keys.grow(r.n);
  const detail::stop_point stop;
  for (std::size_t i = 0; i < r.n; ++i) {
    if (i % batch_rows == 0) stop.check();
    from = read_bytes(type, at + i * type.size, from);
    r.states->load(i, from);
    from += state;
  }
  r.keys = std::move(keys);
  return r;
}

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
std::unique_ptr<group_output> groups_to_send(std::size_t partitions) { return std::make_unique<partial_output>(partitions); }
runtime::vertex_rows groups_to_send(std::unique_ptr<group_table> groups) {
  std::vector<partial_groups::run> runs;
  if (groups) runs.push_back(run_of(std::move(groups)));
  return runtime::vertex_rows(std::make_shared<partial_groups>(std::move(runs)));
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
std::vector<runtime::row_pages> write_groups(const planner::vertex& v, const runtime::vertex_rows& groups, std::size_t receivers,
                                             runtime::run_context& context) {
  std::vector<partial_groups::run>& runs = dynamic_cast<partial_groups&>(*groups.kept).runs;
  std::vector<std::vector<page_writer>> written(runs.size());
  const bool repeatable = are_repeatable(v);
  const vertex_tasks tasks(context, v.captures);
  tasks.for_each(runs.size(), [&](std::size_t r) {
    if (!runs[r].n) return;
    for (std::size_t i = 0; i < receivers; ++i) written[r].emplace_back(context.pool, form_of(v, *runs[r].states), repeatable);
    write_run(v, runs[r], written[r]);
    for (page_writer& w : written[r]) w.flush();
    runs[r] = {};
  });
  std::vector<runtime::row_pages> to(receivers);
  for (auto& by_run : written)
    for (std::size_t r = 0; r < by_run.size(); ++r)
      for (runtime::row_page& page : by_run[r].take()) to[r].push_back(std::move(page));
  return to;
}

runtime::vertex_rows read_groups(const planner::vertex& v, std::span<const runtime::row_page* const> pages, runtime::run_context& context) {
  const group_program program(*v.node, v.group_function.get());
  std::vector<partial_groups::run> runs(pages.size());
  const vertex_tasks tasks(context, std::vector<detail::binding>{});
  tasks.for_each(pages.size(), [&](std::size_t p) { runs[p] = read_page(v, *pages[p], program, context.pool); });
  return runtime::vertex_rows(std::make_shared<partial_groups>(std::move(runs)));
}

// ---------------------------------------------------------------- receivers
runtime::vertex_rows merge_groups(const planner::vertex& v, runtime::run_context& context) {
  const auto bindings = context.bind(v.captures);
  const detail::binding_scope scope(bindings);  // merging and finishing call functions too
  const detail::logical& n = *v.node;
  partial_groups& in = received_by(v, context);
  const group_program program(n, v.group_function.get());
  const function_calls key(n.functions[0], v.interpreted, false);
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
