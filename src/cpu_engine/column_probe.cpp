// A join as a step over columns: the probe side's columns keep their place under a new selection, the build side's get one.
//
// No field of either side is copied. Build rows are numbers into the build side's own columns; those of a side with 2^32 rows or more are
// handed on in runs of numbers that lie less than 2^32 apart. A left join gives missing_row where a row has no partner. Right and full
// joins note which build rows have had a partner; the others follow, with missing_row for every column of the probe side.
#include <algorithm>
#include <mutex>

#include <query/errors.hpp>

#include "cpu_engine/asof_table.hpp"
#include "cpu_engine/column_steps.hpp"
#include "cpu_engine/dictionary.hpp"
#include "cpu_engine/join_table.hpp"
#include "cpu_engine/vertex_tasks.hpp"
#include "planner/column_forms.hpp"

namespace query::cpu {

using detail::join_kind;

namespace {

constexpr std::uint32_t never_read = 0;
constexpr std::uint64_t rows_a_run = interpreter::missing_row;  // of the build side: numbers below missing_row

// The build side: its columns from its first row on, as they lie; what a schema of optional rows adds is not among them.
struct build_side {
  std::shared_ptr<const void> owner;
  planner::column_schema schema;
  std::vector<column> columns;
  std::size_t n = 0;

  // A source, where it lies.
  explicit build_side(const planner::branch& b) {
    detail::row_block rows;
    b.source->view(b.source->source.get(), rows);
    owner = b.source->source;
    schema = planner::source_schema(b);
    n = rows.n;
    if (rows.columns) columns_of_source(schema, b.source->row, rows.columns, 0, columns);
    else columns_of_rows(schema, rows.rows, b.source->row->size, 0, columns);
  }
  explicit build_side(const detail::table& t) : owner(t.owner), schema(planner::column_schema::of_rows(t.type)), n(t.n) {
    columns_of_rows(schema, t.rows, t.type->size, 0, columns);
  }
  static build_side of(const planner::vertex& v, runtime::run_context& context) {
    return v.in_place ? build_side(v.inputs.front()) : build_side(context.table_of(v));
  }
  // Some rows of the other side have no partner here.
  void make_optional(const ir::type* row) { schema = schema.of_optional(row); }
};

bool keeps_left(join_kind k) { return k == join_kind::left || k == join_kind::full; }
bool keeps_right(join_kind k) { return k == join_kind::right || k == join_kind::full; }

// A column of bools: is the row, which may be missing, there?
column presence(const planner::column_schema& s, const bool* of_rows) { return {of_rows, 1, s.optional_row->size, 1, nullptr, true}; }
column presence(const planner::column_schema& s, bool of_all) {
  static constexpr bool either[2] = {false, true};
  return {either + of_all, 0, s.optional_row->size, 1};
}

// All keys of the build side, side by side.
class build_keys {
 public:
  build_keys(const column_values& key, const build_side& build, const vertex_tasks& tasks) : at_(key.in_place(build.columns)) {
    if (at_ || build.n == 0) return;
    computed_.emplace(construct_rows(key.type(), build.n, tasks, [&](std::size_t first, std::size_t k, void* out) {
      std::vector<column> here = build.columns;
      for (column& c : here) c.base = static_cast<const std::byte*>(c.base) + first * c.stride;
      interpreter::scratch scratch;
      key.map(here, k, out, scratch);
    }));
    at_ = computed_->data();
  }
  const void* at() const { return at_; }

 private:
  const void* at_;
  std::optional<rows_buffer> computed_;
};

// The build rows that match keys which come as codes: looked up once for each entry of the dictionary.
class matches_of_codes {
 public:
  // Returns the matches of the first dictionary that was asked for, which is usually that of all batches, and null for any other. Several
  // threads may call this at once.
  const join_table::run* of(const dictionary* d, const join_table& table) const {
    std::call_once(made_, [&] {
      const std::size_t size = d->type()->size;
      runs_.resize(d->size());
      for (std::size_t first = 0; first < runs_.size(); first += join_table::most_runs)
        table.runs(static_cast<const std::byte*>(d->entries()) + first * size, std::min(join_table::most_runs, runs_.size() - first), size,
                   runs_.data() + first);
      dictionary_ = d;
    });
    return dictionary_ == d ? runs_.data() : nullptr;
  }

 private:
  mutable std::once_flag made_;
  mutable const dictionary* dictionary_ = nullptr;
  mutable std::vector<join_table::run> runs_;
};

// Build rows by number as columns under one selection.
class selected_rows {
 public:
  explicit selected_rows(const build_side& build) : build_(&build), columns_(build.columns) {
    if (!build.schema.optional_row) return;
    for (column& c : columns_) c.optional = true;
    columns_.push_back(presence(build.schema, present_));
  }

  // Of as many of the rows as lie in one run, at most a batch: that many, then columns() are theirs.
  std::size_t select(const std::uint64_t* rows, std::size_t n) {
    std::uint64_t first = join_table::no_row;  // of the run
    std::size_t k = 0;
    if (build_->n <= rows_a_run) {  // all of them: without branches, as some rows are there and some are not
      static_assert(static_cast<std::uint32_t>(join_table::no_row) == interpreter::missing_row);
      for (; k < n; ++k) {
        numbers_[k] = static_cast<std::uint32_t>(rows[k]);
        present_[k] = rows[k] != join_table::no_row;
      }
    }
    for (; k < n; ++k) {
      present_[k] = rows[k] != join_table::no_row;
      numbers_[k] = interpreter::missing_row;
      if (!present_[k]) continue;
      if (first == join_table::no_row) first = rows[k] / rows_a_run * rows_a_run;
      if (rows[k] - first >= rows_a_run) break;
      numbers_[k] = static_cast<std::uint32_t>(rows[k] - first);
    }
    if (first == join_table::no_row) first = 0;
    for (std::size_t c = 0; c < build_->columns.size(); ++c) {
      const column& all = build_->columns[c];
      columns_[c].base = build_->n ? static_cast<const std::byte*>(all.base) + first * all.stride : static_cast<const void*>(&never_read);
      columns_[c].select = numbers_;
    }
    return k;
  }
  std::span<const column> columns() const { return columns_; }

 private:
  const build_side* build_;
  std::vector<column> columns_;
  std::uint32_t numbers_[column_batch_rows];
  bool present_[column_batch_rows];
};

class probe_step final : public column_join {
 public:
  // schema: of the probe side's rows; becomes that of the result.
  probe_step(const detail::logical& join, bool build_left, build_side build, planner::column_schema& schema, const vertex_tasks& tasks)
      : tasks_(tasks),
        join_(&join),
        build_left_(build_left),
        build_(std::move(build)),
        key_(join.functions[build_left ? 1 : 0], schema),
        keys_(column_values(join.functions[build_left ? 0 : 1], build_.schema), build_, tasks_) {
    const asof_options* const how = detail::asof_of(join);
    if (how) nearest_.emplace(*how, key_.type(), keys_.at(), key_.type()->size, build_.n, tasks_);
    else table_.emplace(key_.type(), keys_.at(), build_.n, join_options{}, tasks_.scheduler(), tasks_.pool(), tasks_.cancel());
    if (table_) tasks_.context().has_perfect_hash(table_->direct_range());
    if (join_->functions.size() < 3) return;
    probed_ = keeps_right(join.join) ? schema.of_optional(join.functions[0].row) : schema;
    auto p = build_left_ ? planner::project(join_->functions[2], build_.schema, &probed_)
                         : planner::project(join_->functions[2], probed_, &build_.schema);
    if (!p) throw internal_error("query: a join was planned for columns and cannot read them");
    schema = p->schema();
    result_.emplace(std::move(*p), join_);
  }
  std::unique_ptr<column_sink> start(column_sink& next) const override {
    if (result_) return std::make_unique<pair_runner>(*this, next);
    return std::make_unique<match_runner>(*this, next);
  }

  std::size_t build_rows() const override { return build_.n; }
  void unmatched(std::size_t first, std::size_t n, column_sink& to) const override {
    std::vector<std::uint64_t> rows;
    for (std::size_t i = first; i < first + n; ++i)
      if (!table_->matched(i)) rows.push_back(i);
    column_projector::runner projector(*result_, tasks_.pool());
    const std::vector<std::uint32_t> none(column_batch_rows, interpreter::missing_row);
    std::vector<column> probed;
    for (const auto& c : probed_.columns)
      probed.push_back({.base = &never_read, .offset = c.offset, .size = c.type->size, .select = none.data(), .optional = true});
    probed.back() = presence(probed_, false);
    const auto built = std::make_unique<selected_rows>(build_);
    for (std::size_t from = 0; from < rows.size();) {
      tasks_.cancel().check();
      const std::size_t k = built->select(rows.data() + from, std::min(rows.size() - from, column_batch_rows));
      to.push({projector.run(probed, built->columns(), k), k});
      from += k;
    }
  }

 private:
  class pair_runner final : public column_sink {
   public:
    pair_runner(const probe_step& s, column_sink& next)
        : step_(&s),
          alone_(keeps_left(s.join_->join) ? join_table::unmatched::keep : join_table::unmatched::drop),
          keys_(s.key_.type(), s.tasks_.pool()),
          matches_(column_batch_rows),
          projector_(*s.result_, s.tasks_.pool()),
          built_(s.build_),
          nearest_(s.nearest_ ? std::make_unique<asof_table::finder>(*s.nearest_) : nullptr),
          next_(&next) {}

    void push(const column_batch& b) override {
      cursor_.reset();
      if (const join_table::run* const runs = step_->runs_of(b, runs_)) return probe(b, runs);
      const void* keys = step_->key_.adjacent(b.columns, b.n, keys_, scratch_);
      if (nearest_) {
        nearest_->find(keys, b.n, matches_.one_each(b.n));
        return hand_on(b);
      }
      probe(b, keys);
    }

   private:
    template <class Key> void probe(const column_batch& b, const Key* keys) {
      // One row may have millions of partners: batches of matches, not of rows, are where a query stops.
      while (step_->table_->probe(keys, b.n, cursor_, matches_, alone_)) {
        step_->tasks_.cancel().check();
        if (keeps_right(step_->join_->join)) step_->table_->mark(matches_);
        hand_on(b);
      }
    }
    void hand_on(const column_batch& b) {
      if (!next_->reads_columns()) return next_->push({{}, matches_.size()});
      for (std::size_t from = 0; from < matches_.size();) {
        const std::size_t n = built_.select(matches_.build() + from, matches_.size() - from);
        const std::span<const column> probed = probed_rows(of_matches(b, from, n), n);
        next_->push({step_->build_left_ ? projector_.run(built_.columns(), probed, n) : projector_.run(probed, built_.columns(), n), n});
        from += n;
      }
    }
    std::span<const column> of_matches(const column_batch& b, std::size_t from, std::size_t n) {
      if (nearest_ && n == b.n) return b.columns;  // each row once
      return narrowed_.narrow(b.columns, matches_.probe() + from, n);
    }
    // As the result function takes them: where they may be missing, they are optionals of rows whose own optionals are values.
    std::span<const column> probed_rows(std::span<const column> columns, std::size_t n) {
      if (!step_->probed_.optional_row) return columns;
      probed_.assign(columns.begin(), columns.end());
      for (std::size_t c = 0; c < columns.size(); ++c)
        if (!columns[c].as_stored()) probed_[c] = gathered(c, columns[c], n);
      probed_.push_back(presence(step_->probed_, true));
      return probed_;
    }
    column gathered(std::size_t c, const column& from, std::size_t n) {
      while (gathered_.size() <= c) gathered_.emplace_back(step_->probed_.columns[gathered_.size()].type, step_->tasks_.pool());
      rows_buffer& values = gathered_[c];
      const ir::type* t = values.type();
      values.clear();
      gather_column(from, t, n, values.extend(n), t->size, false);
      values.grow(n);
      return {values.data(), t->size, from.offset, from.size, nullptr, true};
    }

    const probe_step* step_;
    join_table::unmatched alone_;
    rows_buffer keys_;
    join_table::run runs_[column_batch_rows];
    interpreter::scratch scratch_;
    join_table::cursor cursor_;
    match_batch matches_;
    column_projector::runner projector_;
    selected_rows built_;
    std::unique_ptr<asof_table::finder> nearest_;  // of an asof_join
    narrowed_columns narrowed_;
    std::vector<column> probed_;
    std::vector<rows_buffer> gathered_;
    column_sink* next_;
  };

  // Semi and anti joins: the rows go on, or do not.
  class match_runner final : public column_sink {
   public:
    match_runner(const probe_step& s, column_sink& next) : step_(&s), keys_(s.key_.type(), s.tasks_.pool()), next_(&next) {}
    void push(const column_batch& b) override {
      if (step_->runs_of(b, runs_))
        for (std::size_t i = 0; i < b.n; ++i) found_[i] = runs_[i].end != runs_[i].begin;
      else step_->table_->contains(step_->key_.adjacent(b.columns, b.n, keys_, scratch_), b.n, found_);
      const std::uint8_t wanted = step_->join_->join == join_kind::semi;
      std::size_t n = 0;
      for (std::size_t i = 0; i < b.n; ++i) {
        rows_[n] = static_cast<std::uint32_t>(i);
        n += found_[i] == wanted;
      }
      if (n) next_->push({narrowed_.narrow(b.columns, rows_, n), n});
    }

   private:
    const probe_step* step_;
    rows_buffer keys_;
    join_table::run runs_[column_batch_rows];
    interpreter::scratch scratch_;
    narrowed_columns narrowed_;
    std::uint8_t found_[column_batch_rows];
    std::uint32_t rows_[column_batch_rows];
    column_sink* next_;
  };

  // The runs of the rows' keys, written to `to`; null: the keys are no codes.
  const join_table::run* runs_of(const column_batch& b, join_table::run* to) const {
    const column* const key = table_ ? key_.coded(b.columns) : nullptr;
    const join_table::run* const by_code = key ? matches_.of(key->coded, *table_) : nullptr;
    if (!by_code) return nullptr;
    for (std::size_t i = 0; i < b.n; ++i) to[i] = by_code[key->select[i]];
    return to;
  }

  vertex_tasks tasks_;
  const detail::logical* join_;
  bool build_left_;
  build_side build_;
  planner::column_schema probed_;
  column_values key_;
  build_keys keys_;
  std::optional<asof_table> nearest_;         // of an asof_join
  mutable std::optional<join_table> table_;   // of others; probes of right and full joins mark rows
  matches_of_codes matches_;
  std::optional<column_projector> result_;
};

}  // namespace

std::unique_ptr<column_step> make_column_probe(const planner::stage& s, planner::column_schema& schema,
                                               const std::vector<detail::binding>& bindings, runtime::run_context& context) {
  const runtime::profiled_run::scope now(context.profile.get(), s.build->number);  // the hash table is that vertex's
  build_side build = build_side::of(*s.build, context);
  if (s.build->in_place && context.profile) {
    context.rows_read(build.n);
    context.profile->now()->gave(build.n, 0);
  }
  if (keeps_left(s.join->join)) build.make_optional(s.build->row());
  return std::make_unique<probe_step>(*s.join, s.build_left, std::move(build), schema, vertex_tasks(context, bindings));
}

std::unique_ptr<column_join> make_column_join(const planner::vertex& v, const detail::table& right, planner::column_schema& schema,
                                              const vertex_tasks& tasks) {
  build_side build = planner::is_bare_source(v.inputs[1]) ? build_side(v.inputs[1]) : build_side(right);
  if (keeps_left(v.node->join)) build.make_optional(v.node->functions[1].row);
  return std::make_unique<probe_step>(*v.node, false, std::move(build), schema, tasks);
}

}  // namespace query::cpu
