// The probe stage of join.hpp.
#include "cpu_engine/join.hpp"

#include <cstring>

#include <query/cpu/segment_form.hpp>
#include <query/errors.hpp>

#include "cpu_engine/function_calls.hpp"
#include "cpu_engine/key_tables.hpp"
#include "cpu_engine/pieces.hpp"
#include "cpu_engine/placed_calls.hpp"

namespace query::cpu {

using detail::batch_sink;
using detail::join_kind;
using detail::row_block;

keyed_rows::keyed_rows(const detail::user_function& key, const detail::key_calls& custom, bool interpreted, bool may_be_direct,
                         detail::table rows, const vertex_tasks& tasks)
    : rows_(std::move(rows)) {
  const bool try_direct = may_be_direct && !custom.equal;
  keys_.emplace(key, interpreted, rows_, tasks, try_direct ? key_column::layout::any : key_column::layout::adjacent);
  if (try_direct) {
    direct_ = perfect_hash_join::make(*keys_, rows_, tasks);
    if (direct_) {
      tasks.context().has_perfect_hash(direct_->range());
      keys_.reset();
      return;
    }
    // Keys that were computed are adjacent and not computed again.
    if (keys_->stride() != keys_->type()->size) keys_.emplace(key, interpreted, rows_, tasks, key_column::layout::adjacent);
  }
  join_options options;
  options.custom = equality_of(custom);
  table_ = std::make_unique<join_table>(keys_->type(), keys_->base(), rows_.n, options, tasks.scheduler(), tasks.pool(), tasks.cancel());
  tasks.context().has_perfect_hash(table_->direct_range());
}

keyed_rows::keyed_rows(const detail::user_function& key, const asof_options& how, bool interpreted, detail::table rows,
                         const vertex_tasks& tasks)
    : rows_(std::move(rows)) {
  keys_.emplace(key, interpreted, rows_, tasks, key_column::layout::any);
  nearest_ = std::make_unique<asof_table>(how, keys_->type(), keys_->base(), keys_->stride(), rows_.n, tasks);
}

struct join_probe::prepared {
  prepared(const detail::logical& j, detail::table rows, bool left, bool interpreted, const vertex_tasks& tasks)
      : join(j),
        build_left(left),
        build(detail::asof_of(j) ? keyed_rows(j.functions[1], *detail::asof_of(j), interpreted, std::move(rows), tasks)
                     : keyed_rows(j.functions[left ? 0 : 1], j.keys, interpreted, !marks(), std::move(rows), tasks)),
        key(j.functions[left ? 1 : 0], interpreted, false),
        key_type(j.functions[left ? 1 : 0].result),
        probe_type(j.functions[left ? 1 : 0].row),
        pool(tasks.pool()),
        cancel(tasks.cancel()) {
    if (j.functions.size() > 2) result.emplace(j.functions[2], j.functions[0].row, j.functions[1].row, interpreted, pool);
    key_part = part_of_row(j.functions[left ? 1 : 0]);
  }

  const detail::logical& join;
  bool build_left;
  keyed_rows build;
  function_calls key;
  const ir::type *key_type, *probe_type;
  std::optional<std::size_t> key_part;  // where in a streamed row its key lies, if it does
  std::optional<pair_calls> result;
  runtime::buffer_pool& pool;
  const runtime::cancel_flag& cancel;

  bool marks() const { return join.join == join_kind::right || join.join == join_kind::full; }
  join_table::unmatched alone() const {
    return join.join == join_kind::left || join.join == join_kind::full ? join_table::unmatched::keep : join_table::unmatched::drop;
  }
};

namespace {

// The keys of a batch of streamed rows.
class batch_keys {
 public:
  batch_keys(const detail::logical& join, const function_calls& f, const ir::type* key, const ir::type* row,
             std::optional<std::size_t> part, runtime::buffer_pool& pool)
      : join_(&join), calls_(&f), row_(row), part_(part), keys_(key, pool) {}
  // At any distance from each other.
  perfect_hash_join::probe strided(const std::byte* rows, std::size_t n) {
    if (part_) return {rows + *part_, row_->size, n};
    return {static_cast<const std::byte*>(adjacent(rows, n)), keys_.type()->size, n};
  }
  // Side by side.
  const void* adjacent(const std::byte* rows, std::size_t n) {
    if (part_ && row_->size == keys_.type()->size) return rows + *part_;
    keys_.clear();
    placed_calls(join_, [&] { calls_->map(rows, nullptr, n, keys_.extend(n), scratch_); });
    keys_.grow(n);
    return keys_.data();
  }

 private:
  const detail::logical* join_;
  const function_calls* calls_;
  const ir::type* row_;
  std::optional<std::size_t> part_;
  rows_buffer keys_;
  interpreter::scratch scratch_;
};

}  // namespace

// Pairs of matching rows, through the result function.
class join_probe::pair_runner final : public stage_runner {
 public:
  pair_runner(const prepared& p, batch_sink& next)
      : p_(&p),
        keys_(p.join, p.key, p.key_type, p.probe_type, p.key_part, p.pool),
        a_batch_(rows_a_batch(p.result->result()->size)),
        matches_(a_batch_),
        nearest_(p.build.nearest() ? std::make_unique<asof_table::finder>(*p.build.nearest()) : nullptr),
        out_(p.result->result(), p.pool),
        next_(&next) {}

  void push(const row_block& b) override {
    for (std::size_t from = 0; from < b.n; from += a_batch_)
      probe(static_cast<const std::byte*>(b.rows) + from * p_->probe_type->size, std::min(a_batch_, b.n - from));
  }
  // Counting pairs needs neither the build rows nor the result function.
  bool fold(detail::fold_kind k, const row_block& b, detail::fold_state& state) override {
    if (k != detail::fold_kind::count || p_->marks()) return false;
    for (std::size_t from = 0; from < b.n; from += batch_rows)
      state.count += count(static_cast<const std::byte*>(b.rows) + from * p_->probe_type->size, std::min(batch_rows, b.n - from));
    return true;
  }

 private:
  std::uint64_t count(const std::byte* rows, std::size_t n) {
    const bool alone = p_->alone() == join_table::unmatched::keep;
    if (nearest_) return n;
    std::uint64_t pairs = 0;
    if (const perfect_hash_join* direct = p_->build.direct()) {
      if (alone) return n;
      std::uint8_t found[batch_rows];
      direct->contains(keys_.strided(rows, n), found);
      for (std::size_t i = 0; i < n; ++i) pairs += found[i];
      return pairs;
    }
    std::uint64_t matches[batch_rows];
    p_->build.table().count(keys_.adjacent(rows, n), n, matches);
    for (std::size_t i = 0; i < n; ++i) pairs += alone && matches[i] == 0 ? 1 : matches[i];
    return pairs;
  }
  void probe(const std::byte* rows, std::size_t n) {
    if (nearest_) probe_nearest(rows, n);
    else if (p_->build.direct()) probe_direct(*p_->build.direct(), rows, n);
    else probe_table(rows, n);
  }
  void probe_direct(const perfect_hash_join& build, const std::byte* rows, std::size_t n) {
    const std::size_t size = p_->probe_type->size;
    std::uint32_t numbers[batch_rows];
    if (p_->alone() == join_table::unmatched::keep) {
      build.find(keys_.strided(rows, n), built_);
      for (std::size_t i = 0; i < n; ++i) streamed_[i] = rows + i * size;
    } else {
      n = build.matches(keys_.strided(rows, n), numbers, built_);
      for (std::size_t i = 0; i < n; ++i) streamed_[i] = rows + numbers[i] * size;
    }
    if (n) emit(n);
  }
  void probe_nearest(const std::byte* rows, std::size_t n) {
    nearest_->find(keys_.adjacent(rows, n), n, matches_.one_each(n));
    find_rows(rows);
    emit(n);
  }
  void probe_table(const std::byte* rows, std::size_t n) {
    const void* keys = keys_.adjacent(rows, n);
    cursor_.reset();
    join_table& table = p_->build.table();
    const join_table::unmatched alone = p_->alone();
    // One row may have millions of partners: batches of matches, not of rows, are where a query stops.
    while (table.probe(keys, n, cursor_, matches_, alone)) {
      p_->cancel.check();
      if (p_->marks()) table.mark(matches_);
      find_rows(rows);
      emit(matches_.size());
    }
  }
  void find_rows(const std::byte* rows) {
    const std::size_t n = matches_.size(), size = p_->probe_type->size;
    const std::uint32_t* probe = matches_.probe();
    const std::uint64_t* build = matches_.build();
    for (std::size_t i = 0; i < n; ++i) streamed_[i] = rows + probe[i] * size;
    if (p_->build.prefetch()) {
      // All addresses first: the misses of a whole batch overlap.
      for (std::size_t i = 0; i < n; ++i) {
        built_[i] = p_->build.row(build[i]);
        __builtin_prefetch(built_[i]);
      }
    } else {
      for (std::size_t i = 0; i < n; ++i) built_[i] = p_->build.row(build[i]);
    }
  }
  void emit(std::size_t n) {
    out_.clear();
    void* to = out_.extend(n);
    placed_calls(&p_->join, [&] {
      if (p_->build_left) p_->result->map(built_, streamed_, n, to, scratch_);
      else p_->result->map(streamed_, built_, n, to, scratch_);
    });
    out_.grow(n);
    row_block out;
    out.rows = to;
    out.n = n;
    out.owned = true;
    next_->push(out);
  }

  const prepared* p_;
  batch_keys keys_;
  std::size_t a_batch_;  // results of a batch at most, and rows looked up for them
  join_table::cursor cursor_;
  match_batch matches_;
  std::unique_ptr<asof_table::finder> nearest_;  // of an asof_join
  const void* streamed_[batch_rows];
  const void* built_[batch_rows];
  rows_buffer out_;
  pair_calls::scratch scratch_;
  batch_sink* next_;
};

// Semi and anti joins: streamed rows go on as they are, or not.
class join_probe::test_runner final : public stage_runner {
 public:
  test_runner(const prepared& p, batch_sink& next)
      : p_(&p), keys_(p.join, p.key, p.key_type, p.probe_type, p.key_part, p.pool), kept_(p.probe_type, p.pool), next_(&next) {}

  void push(const row_block& b) override {
    const ir::type* t = p_->probe_type;
    const std::uint8_t wanted = p_->join.join == join_kind::semi;
    for (std::size_t from = 0; from < b.n; from += batch_rows) {
      const std::size_t n = std::min(batch_rows, b.n - from);
      std::byte* rows = static_cast<std::byte*>(b.rows) + from * t->size;
      if (const perfect_hash_join* direct = p_->build.direct()) direct->contains(keys_.strided(rows, n), found_);
      else p_->build.table().contains(keys_.adjacent(rows, n), n, found_);
      if (t->trivial && t->size <= 256) compact(rows, n, wanted);
      else push_runs(rows, n, wanted, b.owned);
    }
  }

 private:
  void compact(const std::byte* rows, std::size_t n, std::uint8_t wanted) {
    const std::size_t size = p_->probe_type->size;
    kept_.clear();
    std::byte* to = static_cast<std::byte*>(kept_.extend(batch_rows));
    std::size_t k = 0;
    for (std::size_t i = 0; i < n; ++i) {
      std::memcpy(to + k * size, rows + i * size, size);
      k += found_[i] == wanted;
    }
    if (k) hand_on(to, k, true);
  }
  void push_runs(std::byte* rows, std::size_t n, std::uint8_t wanted, bool owned) {
    for (std::size_t i = 0; i < n;) {
      std::size_t j = i;
      while (j < n && found_[j] == wanted) ++j;
      if (j > i) hand_on(rows + i * p_->probe_type->size, j - i, owned);
      i = j + 1;
    }
  }
  void hand_on(std::byte* rows, std::size_t n, bool owned) {
    row_block out;
    out.rows = rows;
    out.n = n;
    out.owned = owned;
    next_->push(out);
  }

  const prepared* p_;
  batch_keys keys_;
  rows_buffer kept_;
  std::uint8_t found_[batch_rows];
  batch_sink* next_;
};

join_probe::join_probe(const detail::logical& join, detail::table build, bool build_left, bool interpreted, const vertex_tasks& tasks)
    : p_(std::make_unique<prepared>(join, std::move(build), build_left, interpreted, tasks)) {}
join_probe::~join_probe() = default;

std::unique_ptr<stage_runner> join_probe::start(batch_sink& next) const {
  if (p_->result) return std::make_unique<pair_runner>(*p_, next);
  return std::make_unique<test_runner>(*p_, next);
}

rows_buffer join_probe::unmatched(const vertex_tasks& tasks) const {
  std::vector<const void*> rows;
  const join_table& table = p_->build.table();
  for (std::size_t i = 0; i < table.rows(); ++i) {
    if (i % rows_a_look == 0) tasks.cancel().check();
    if (!table.matched(i)) rows.push_back(p_->build.row(i));
  }
  const std::vector<const void*> nothing(std::min(rows.size(), part_rows));
  return construct_rows(p_->result->result(), rows.size(), tasks, [&](std::size_t first, std::size_t k, void* out) {
    pair_calls::scratch scratch;
    if (p_->build_left) p_->result->map(rows.data() + first, nothing.data(), k, out, scratch);
    else p_->result->map(nothing.data(), rows.data() + first, k, out, scratch);
  });
}

std::unique_ptr<prepared_stage> prepare_probe(const planner::stage& s, runtime::run_context& context,
                                              std::vector<detail::binding> bindings) {
  const vertex_tasks tasks(context, std::move(bindings));
  const runtime::profiled_run::scope now(context.profile.get(), s.build->number);  // the hash table is that vertex's
  return std::make_unique<join_probe>(*s.join, context.table_of(*s.build), s.build_left, s.how == planner::form::interpreted, tasks);
}
}  // namespace query::cpu
