// Runs one branch of the machine graph: morsels of its source through its row-wise stages into a sink.
//
// A source is cut into parts of fixed size (64 Ki rows, or fewer of few wide ones), whatever the number of threads: partial results are
// combined in the order of the parts, so answers do not depend on the threads. Morsel-driven scheduling: Leis et al., SIGMOD 2014.
//
//   pipeline p(branch, captures, context);
//   p.run_all([&](const pipeline::part& part) { part.run(sinks[part.index]); });
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "cpu_engine/column_batch.hpp"
#include "cpu_engine/row_pieces.hpp"
#include "cpu_engine/rows_buffer.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

inline constexpr std::size_t part_rows = 1 << 16;
// The length of a part, in rows, for a source of `rows` rows of `row_bytes` bytes. A row of a hundred numbers is more work than a row of
// two numbers. If such rows are few, parts are short enough for all threads to get some.
std::size_t rows_a_part_of(std::size_t rows, std::size_t row_bytes);

// A stage at work in one task: takes batches, gives batches.
class stage_runner : public detail::batch_sink {
 public:
  virtual ~stage_runner() = default;
  // Called for the last stage, which may be able to fold rows without handing them on.
  virtual bool fold(detail::fold_kind, const detail::row_block&, detail::fold_state&) { return false; }
  // Called for the first stage: it must hand on each block as one block, however the rows of the block lie in memory.
  virtual void keep_blocks() {}
};
// A stage, prepared once for a run; any number of tasks start runners of it.
class prepared_stage {
 public:
  virtual ~prepared_stage() = default;
  virtual std::unique_ptr<stage_runner> start(detail::batch_sink& next) const = 0;
};


class column_sink;   // column_batch.hpp
class column_steps;  // column_steps.hpp

class pipeline {
 public:
  // over_columns: the whole branch runs over columns, and the caller takes its batches as columns (planner::vertex::over_columns).
  // once: parts run in order, none twice, and rows of the source are not read after the body that received them has returned. Rows that
  // a vertex makes as they are read (made_tables.hpp) then need not be contiguous.
  pipeline(const planner::branch& b, const std::vector<planner::binding>& captures, runtime::run_context& context,
           bool over_columns = false, bool once = false);
  ~pipeline();

  class part {
   public:
    std::size_t index = 0;
    void run(detail::batch_sink& to) const;                              // batches in order
    void fold(detail::fold_kind k, detail::fold_state& state) const;     // of arithmetic rows, or count
    void run_columns(column_sink& to) const;                             // batches of columns() in order

   private:
    friend class pipeline;
    template <class Push> void run_groups(Push last) const;
    template <class Push> void slices(Push push) const;
    template <class Push> void made_slices(Push push) const;
    const pipeline* of = nullptr;
    detail::row_block rows;
  };

  const ir::type* row() const { return row_; }
  std::optional<std::uint64_t> source_rows() const;  // unknown for streams: generators, and vertices that pass rows on
  bool keeps_rows() const { return keeps_rows_; }     // one row out for each row in
  bool in_place() const;                             // nothing happens to the rows, and they stay where they are
  std::optional<detail::table> as_table() const;      // the source itself, if nothing happens to it
  std::vector<detail::table> as_tables() const;       // the same in one table or several; empty if something happens to the rows
  bool made_as_read() const { return pass_ != nullptr; }  // whether the source's rows exist only while they are read
  bool source_as_it_is() const;                           // nothing happens to the rows
  std::vector<std::shared_ptr<const void>> sources() const;  // owners of the rows that columns() select; keep them with a selection
  // For rows that are made as they are read; replaces parts. Returns the next table, whose rows belong to the caller; false at the end.
  bool next_made(detail::table& t);
  // The same for a stream to which nothing happens: its next piece, which belongs to the reader until the next call.
  bool streams_as_it_is() const { return stream_ && steps_.empty() && !over_columns_; }
  bool next_piece(detail::table& t);
  // What batches of columns hold; null where the last stage gives records.
  const planner::column_schema* columns() const;
  // All rows of the source, if each batch consists of columns of some of them, in order, and the rows stay in place. Otherwise empty.
  // Columns that come as codes select entries of their dictionaries.
  std::vector<column> columns_in_place() const;
  // Whether no row is dropped: columns_in_place() are then all rows of the branch.
  bool rows_in_place() const { return keeps_rows_ && !columns_in_place().empty(); }
  // The columns of the vertex that this branch reads, if nothing happens to them. Otherwise null.
  const class column_list* list_as_it_is() const;

  // Runs the next `most` parts in parallel, or fewer of a stream; body sees each once. False when the source has ended and
  // nothing ran.
  bool run_some(std::size_t most, function_ref<void(const part&)> body);
  std::size_t next_part() const { return next_part_; }
  // Runs only these rows, in this thread, as part number 0. Only for sources with a known length.
  void run_rows(std::size_t first, std::size_t n, function_ref<void(const part&)> body);
  // Runs all parts that are left. For sources of unknown length, in windows.
  void run_all(function_ref<void(const part&)> body);
  // The number of parts of run_all, if the source's length is known.
  std::optional<std::size_t> parts() const;
  // Makes parts larger, for operators that need a table for each part: at most `most` parts.
  void limit_parts(std::size_t most);
  std::size_t rows_a_part() const { return rows_a_part_; }
  // Gives parts from number `part` on only `rows` rows, a power of two; of these, parts that had run will run again. Returns false if
  // they are shorter already, or if the source can be read only once and reading has begun.
  bool shorten_parts(std::size_t part, std::size_t rows);
  std::size_t most_rows_a_part() const;  // of the source; fewer than rows_a_part() where a stream gives large rows

  runtime::run_context& context() const { return *context_; }

 private:
  void fill_window(std::size_t most);
  std::size_t wanted_of_stream(bool few);
  void passed(std::size_t rows);
  std::size_t most_in_window() const;
  std::size_t ready_parts(std::size_t first, std::size_t end);
  detail::row_block rows_at(std::size_t first, std::size_t n) const;

  runtime::run_context* context_;
  std::unique_ptr<struct rows_behind_join> behind_;  // rows after a join that did not fit in memory
  std::vector<detail::binding> bindings_;
  std::shared_ptr<const column_steps> over_columns_;  // the first stages, where these run over columns
  struct step {
    std::unique_ptr<prepared_stage> stage;
    const ir::type* out;  // the rows that it gives
  };
  void add_step(std::unique_ptr<prepared_stage> stage, const ir::type* out) { steps_.push_back({std::move(stage), out}); }
  std::vector<step> steps_;
  const ir::type* row_;
  const ir::type* source_row_;
  bool keeps_rows_ = true;
  detail::row_block whole_;                       // the rows of a source with a known length
  std::shared_ptr<const class table_list> list_;  // the tables of the source, if it has several
  std::shared_ptr<const class column_list> columns_;  // the columns of the source, if it has those instead
  runtime::vertex_rows* list_rows_ = nullptr;     // where list_ comes from; can make its rows contiguous
  std::unique_ptr<class table_pass> pass_;        // the source, if its rows are made as they are read
  std::shared_ptr<const void> owner_;
  std::unique_ptr<row_pieces> stream_;            // the source, if its length is unknown
  static constexpr std::uint64_t unknown_length = ~std::uint64_t{0};
  std::uint64_t stream_length_ = unknown_length;  // an upper bound, for reports of progress
  bool stream_ended_ = false;
  std::size_t piece_rows_ = 0;                    // rows that the stream was last asked for
  std::deque<detail::table> cut_;                 // the rows of the last piece that have not run yet
  struct window_part {
    detail::table rows;
    std::uint64_t first = 0;
  };
  std::vector<window_part> window_;
  std::uint64_t stream_rows_ = 0;                 // rows that have been in windows so far
  std::size_t next_part_ = 0, rows_a_part_ = part_rows;
};

// Makes what a stage of a plan needs for a run: programs of the interpreter, hash tables...
std::unique_ptr<prepared_stage> prepare_stage(const planner::stage& s, const std::vector<detail::binding>& bindings,
                                              runtime::run_context& context);
std::unique_ptr<prepared_stage> prepare_prefilter(const planner::prefilter& f, const ir::type* row, runtime::run_context& context);

// All rows of a branch in contiguous memory: the source itself if nothing happens to them.
detail::table collect(const planner::branch& b, const std::vector<planner::binding>& captures, runtime::run_context& context,
                      std::uint64_t limit = ~0ull);
// The same for the parts that have not run yet.
detail::table collect_rest(pipeline& p, std::uint64_t limit = ~0ull);
// The same behind rows that have come before.
detail::table collect_rest(pipeline& p, rows_buffer before);

// fold of rows that are arithmetic values.
bool fold_values(detail::fold_kind k, ir::kind kind, const detail::row_block& rows, detail::fold_state& state);
void merge_folds(detail::fold_kind k, const ir::type* row, detail::fold_state& into, const detail::fold_state& from);

}  // namespace query::cpu
