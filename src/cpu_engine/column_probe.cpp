// A join as a step over columns: the probe side's columns keep their place under a new selection, the build side's get one.
//
// No field of either side is copied. Build rows are numbers into the build side's own columns; those of a side with 2^32 rows or more are
// handed on in runs of numbers that lie less than 2^32 apart. A left join gives missing_row where a row has no partner.
#include <algorithm>

#include <query/errors.hpp>

#include "cpu_engine/column_steps.hpp"
#include "cpu_engine/join_table.hpp"
#include "cpu_engine/vertex_tasks.hpp"
#include "planner/column_forms.hpp"

namespace query::cpu {

using detail::join_kind;

namespace {

constexpr std::uint64_t rows_a_run = interpreter::missing_row;  // of the build side: numbers below missing_row

// The build side: its columns from its first row on.
struct build_side {
  std::shared_ptr<const void> owner;
  planner::column_schema schema;
  std::vector<column> columns;
  std::size_t n = 0;

  // optional: some of the other side's rows have no partner here.
  build_side(const planner::vertex& v, bool optional, runtime::run_context& context) {
    if (v.in_place) {
      const planner::branch& b = v.inputs.front();
      detail::row_block rows;
      b.source->view(b.source->source.get(), rows);
      owner = b.source->source;
      schema = planner::source_schema(b);
      n = rows.n;
      if (rows.columns) columns_of_source(schema, b.source->row, rows.columns, 0, columns);
      else columns_of_rows(schema, rows.rows, b.source->row->size, 0, columns);
    } else {
      const detail::table& t = context.table_of(v);
      owner = t.owner;
      schema = planner::column_schema::of_rows(t.type);
      n = t.n;
      columns_of_rows(schema, t.rows, t.type->size, 0, columns);
    }
    if (!optional) return;
    for (column& c : columns) {
      c.optional = true;
      if (n == 0) c.base = &missing_row_;  // never read
    }
    const ir::type* row = v.row();
    schema = schema.of_optional(row);
    columns.push_back({nullptr, 1, row->size, 1, nullptr, true});
  }

 private:
  static constexpr std::uint32_t missing_row_ = interpreter::missing_row;
};

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

class probe_step final : public column_step {
 public:
  probe_step(const planner::stage& s, planner::column_schema& schema, const std::vector<detail::binding>& bindings,
             runtime::run_context& context)
      : tasks_(context, bindings),
        join_(s.join),
        build_left_(s.build_left),
        build_(*s.build, s.join->join == join_kind::left, context),
        key_(s.join->functions[s.build_left ? 1 : 0], schema),
        keys_(column_values(s.join->functions[s.build_left ? 0 : 1], build_.schema), build_, tasks_),
        table_(key_.type(), keys_.at(), build_.n, {}, tasks_.scheduler(), tasks_.pool(), tasks_.cancel()) {
    if (join_->functions.size() < 3) return;
    auto p = build_left_ ? planner::project(join_->functions[2], build_.schema, &schema)
                         : planner::project(join_->functions[2], schema, &build_.schema);
    if (!p) throw internal_error("query: a join was planned for columns and cannot read them");
    schema = p->schema();
    result_.emplace(std::move(*p), join_);
  }
  std::unique_ptr<column_sink> start(column_sink& next) const override {
    if (result_) return std::make_unique<pair_runner>(*this, next);
    return std::make_unique<match_runner>(*this, next);
  }

 private:
  class pair_runner final : public column_sink {
   public:
    pair_runner(const probe_step& s, column_sink& next)
        : step_(&s),
          keys_(s.key_.type(), s.tasks_.pool()),
          matches_(column_batch_rows),
          projector_(*s.result_, s.tasks_.pool()),
          built_(s.build_.columns),
          next_(&next) {}

    void push(const column_batch& b) override {
      const void* keys = step_->key_.adjacent(b.columns, b.n, keys_, scratch_);
      cursor_.reset();
      // One row may have millions of partners: batches of matches, not of rows, are where a query stops.
      const auto alone = step_->join_->join == join_kind::left ? join_table::unmatched::keep : join_table::unmatched::drop;
      while (step_->table_.probe(keys, b.n, cursor_, matches_, alone)) {
        step_->tasks_.cancel().check();
        hand_on(b);
      }
    }

   private:
    void hand_on(const column_batch& b) {
      for (std::size_t from = 0; from < matches_.size();) {
        std::uint64_t first = join_table::no_row;  // build row of the run
        std::size_t n = 0;
        for (; from + n < matches_.size(); ++n) {
          const std::uint64_t row = matches_.build()[from + n];
          present_[n] = row != join_table::no_row;
          rows_[n] = interpreter::missing_row;
          if (!present_[n]) continue;
          if (first == join_table::no_row) first = row / rows_a_run * rows_a_run;
          if (row - first >= rows_a_run) break;
          rows_[n] = static_cast<std::uint32_t>(row - first);
        }
        select_built(first == join_table::no_row ? 0 : first);
        const std::span<const column> probed = narrowed_.narrow(b.columns, matches_.probe() + from, n);
        next_->push({step_->build_left_ ? projector_.run(built_, probed, n) : projector_.run(probed, built_, n), n});
        from += n;
      }
    }

    void select_built(std::uint64_t first) {
      const planner::column_schema& schema = step_->build_.schema;
      for (std::size_t c = 0; c < built_.size(); ++c) {
        built_[c].base = static_cast<const std::byte*>(step_->build_.columns[c].base) + first * built_[c].stride;
        built_[c].select = rows_;
      }
      if (schema.optional_row) built_.back() = {present_, 1, schema.optional_row->size, 1, nullptr, true};
    }

    const probe_step* step_;
    rows_buffer keys_;
    interpreter::scratch scratch_;
    join_table::cursor cursor_;
    match_batch matches_;
    column_projector::runner projector_;
    std::vector<column> built_;
    narrowed_columns narrowed_;
    std::uint32_t rows_[column_batch_rows];
    bool present_[column_batch_rows];
    column_sink* next_;
  };

  // Semi and anti joins: the rows go on, or do not.
  class match_runner final : public column_sink {
   public:
    match_runner(const probe_step& s, column_sink& next) : step_(&s), keys_(s.key_.type(), s.tasks_.pool()), next_(&next) {}
    void push(const column_batch& b) override {
      step_->table_.contains(step_->key_.adjacent(b.columns, b.n, keys_, scratch_), b.n, found_);
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
    interpreter::scratch scratch_;
    narrowed_columns narrowed_;
    std::uint8_t found_[column_batch_rows];
    std::uint32_t rows_[column_batch_rows];
    column_sink* next_;
  };

  vertex_tasks tasks_;
  const detail::logical* join_;
  bool build_left_;
  build_side build_;
  column_values key_;
  build_keys keys_;
  join_table table_;
  std::optional<column_projector> result_;
};

}  // namespace

std::unique_ptr<column_step> make_column_probe(const planner::stage& s, planner::column_schema& schema,
                                               const std::vector<detail::binding>& bindings, runtime::run_context& context) {
  return std::make_unique<probe_step>(s, schema, bindings, context);
}

}  // namespace query::cpu
