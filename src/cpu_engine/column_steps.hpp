// The stages of a branch that run over columns (planner/column_forms.hpp): tests, projections and probes, one after the other.
//
//   column_steps steps(branch, n, bindings, context);     // prepared once for a run: programs, hash tables
//   auto run = steps.start(sink);                          // in each task
//   run->push(rows);                                       // a block of the source's rows or columns
#pragma once

#include <memory>
#include <vector>

#include "cpu_engine/coded_columns.hpp"
#include "cpu_engine/column_batch.hpp"
#include "cpu_engine/pipeline.hpp"

namespace query::cpu {

class column_list;
class vertex_tasks;

// A step at work hands batches on; prepared, it starts for any number of tasks.
class column_step {
 public:
  virtual ~column_step() = default;
  virtual std::unique_ptr<column_sink> start(column_sink& next) const = 0;
};

// A right or full join: a step, and the build rows that have had no partner once all rows have been pushed.
class column_join : public column_step {
 public:
  virtual std::size_t build_rows() const = 0;
  // Those of build rows [first, first + n), in order.
  virtual void unmatched(std::size_t first, std::size_t n, column_sink& to) const = 0;
};

class column_steps {
 public:
  // The first n stages of b, behind its prefilters if these run over columns too; with none, the columns of the source as they are. list:
  // the rows of b, if they are columns of a vertex; blocks then say by number which rows they are. passing: rows end with their block.
  column_steps(const planner::branch& b, bool prefilters, std::size_t n, const std::vector<detail::binding>& bindings,
               runtime::run_context& context, std::shared_ptr<const column_list> list = nullptr, bool passing = false);
  ~column_steps();

  const planner::column_schema& schema() const { return schema_; }  // of the batches that come out
  const ir::type* row() const { return row_; }
  bool keeps_rows() const { return keeps_rows_; }                    // one row out for each row in
  bool only_tests() const { return only_tests_; }                    // columns are the source's
  // Gives the columns of a columnar source, from row `from` of these bases on.
  void columns_of(const void* const* bases, std::size_t from, std::vector<column>& to) const;

  class runner final : public detail::batch_sink {
   public:
    runner(const column_steps& s, column_sink& to);
    void push(const detail::row_block& b) override;

   private:
    const column_steps* of_;
    std::vector<std::unique_ptr<column_sink>> started_;
    column_sink* head_;
    std::vector<column> columns_;
  };
  std::unique_ptr<runner> start(column_sink& to) const { return std::make_unique<runner>(*this, to); }

 private:
  void add_test(const detail::user_function& f, const detail::logical* node);
  void add_test(planner::interpretation test, const detail::logical* node);

  const ir::type *source_row_, *row_;
  std::shared_ptr<const column_list> list_;
  planner::column_schema source_schema_, schema_;
  coded_columns coded_;
  std::vector<std::unique_ptr<column_step>> steps_;
  bool passing_, keeps_rows_ = true, only_tests_ = true;
};

// The steps as a stage whose receiver takes records: they are put together in memory that is used again for each batch.
std::unique_ptr<prepared_stage> records_of(std::shared_ptr<const column_steps> steps, runtime::run_context& context);

// The step of a join whose build side is a table or a source read where it lies; the schema becomes that of the result.
std::unique_ptr<column_step> make_column_probe(const planner::stage& s, planner::column_schema& schema,
                                               const std::vector<detail::binding>& bindings, runtime::run_context& context);
// That of a join that is a vertex of its own: right or full. build: the rows of its right side, unless this is a bare source.
std::unique_ptr<column_join> make_column_join(const planner::vertex& v, const detail::table& build, planner::column_schema& schema,
                                              const vertex_tasks& tasks);

// A value that lives as long as what holds it.
class constant_value {
 public:
  explicit constant_value(const ir::node* expression);
  constant_value(constant_value&&) noexcept = default;
  ~constant_value();
  const void* at() const { return memory_.get(); }

 private:
  const ir::type* type_;
  std::unique_ptr<std::max_align_t[]> memory_;
};

// A traced projection, prepared: some columns renamed, others computed.
class column_projector {
 public:
  explicit column_projector(planner::projection p, const detail::logical* node);
  planner::column_schema schema() const { return projection_.schema(); }

  class runner {
   public:
    runner(const column_projector& p, runtime::buffer_pool& pool);
    // The result's columns; they live until the next call.
    std::span<const column> run(std::span<const column> left, std::span<const column> right, std::size_t n);

   private:
    const column_projector* of_;
    std::vector<rows_buffer> computed_;
    std::vector<column> columns_;
    std::vector<interpreter::scratch> scratches_;  // one for each program: a scratch is laid out for one
  };

 private:
  planner::projection projection_;
  std::vector<interpreter::program> programs_;  // one for each computed part, in order
  std::vector<constant_value> constants_;       // of parts that are renamed and may be missing, in order
  const detail::logical* node_;
};

// Values of a traced function side by side: where they lie, or computed into `memory`.
class column_values {
 public:
  column_values(const detail::user_function& f, const planner::column_schema& schema);
  const ir::type* type() const { return type_; }
  // Constructs n values in raw memory.
  void map(std::span<const column> columns, std::size_t n, void* out, interpreter::scratch& s) const;
  const void* adjacent(std::span<const column> columns, std::size_t n, rows_buffer& memory, interpreter::scratch& s) const;
  // The column whose codes the values are; null: they are something else.
  const column* coded(std::span<const column> columns) const;
  // Where n values lie side by side already; null: they do not.
  const void* in_place(std::span<const column> columns) const;

 private:
  const ir::type* type_;
  planner::interpretation function_;
  std::optional<interpreter::program> program_;  // none: a part of a column
  planner::column_part part_;
};

}  // namespace query::cpu
