#include "cpu_engine/vertex_streams.hpp"

#include <optional>

#include <query/detail/division_watch.hpp>
#include <query/detail/failure.hpp>
#include <query/errors.hpp>

#include "cpu_engine/files.hpp"
#include "cpu_engine/verify.hpp"
#include "runtime/stack_room.hpp"

namespace query::cpu {

using detail::verb;

bool vertex_input::next(detail::table& rows) {
  while (true) {
    if (now_ && now_->next(rows, ~0ull)) return true;
    if (reached_ == v_->inputs.size()) return false;
    now_ = std::make_unique<row_prefix>(v_->inputs[reached_++], *v_, tasks_);
  }
}

namespace {

class vertex_rows : public row_pieces {
 public:
  bool prompt() const final { return false; }
};

// Rows as they are: collect, concat, append.
class all_rows final : public vertex_rows {
 public:
  all_rows(const planner::vertex& v, runtime::run_context& context) : input_(v, context) {}
  bool next(detail::table& rows, std::size_t) override { return input_.next(rows); }

 private:
  vertex_input input_;
};

class rows_or_default final : public vertex_rows {
 public:
  rows_or_default(const planner::vertex& v, runtime::run_context& context)
      : tasks_(context, v.captures), rows_(v.inputs[0], v, tasks_), default_(v.inputs[1], v, tasks_) {}
  bool next(detail::table& rows, std::size_t) override {
    if (rows_.next(rows, ~0ull)) return any_ = true;
    return !any_ && default_.next(rows, ~0ull);
  }

 private:
  vertex_tasks tasks_;
  row_prefix rows_, default_;
  bool any_ = false;
};

class first_rows final : public vertex_rows {
 public:
  first_rows(const planner::vertex& v, std::uint64_t most, runtime::run_context& context)
      : tasks_(context, v.captures), input_(v.inputs[0], v, tasks_), left_(most) {}
  bool next(detail::table& rows, std::size_t) override {
    if (!left_ || !input_.next(rows, left_)) return false;
    rows = slice(rows, 0, left_);
    left_ -= rows.n;
    return true;
  }

 private:
  vertex_tasks tasks_;
  row_prefix input_;
  std::uint64_t left_;
};

class rows_while final : public vertex_rows {
 public:
  rows_while(const planner::vertex& v, runtime::run_context& context)
      : tasks_(context, v.captures), test_(v.node->functions[0], v.interpreted, true), input_(v.inputs[0], v, tasks_, &test_) {}
  bool next(detail::table& rows, std::size_t) override { return input_.next(rows, ~0ull); }

 private:
  vertex_tasks tasks_;
  function_calls test_;
  row_prefix input_;
};

// skip, skip_while: all rows but the first ones.
class later_rows final : public vertex_rows {
 public:
  later_rows(const planner::vertex& v, runtime::run_context& context) : input_(v, context) {
    if (v.node->what == verb::skip) left_ = v.node->count;
    else test_.emplace(v.node->functions[0], v.interpreted, true);
  }
  bool next(detail::table& rows, std::size_t) override {
    while (input_.next(rows)) {
      const std::uint64_t out = std::min<std::uint64_t>(rows.n, test_ ? first_failing(rows, *test_, input_.tasks()) : left_);
      if (!test_) left_ -= out;
      else if (out < rows.n) test_.reset();
      if (out == rows.n) continue;
      rows = slice(rows, out, ~0ull);
      return true;
    }
    return false;
  }

 private:
  vertex_input input_;
  std::optional<function_calls> test_;
  std::uint64_t left_ = 0;
};

// No more than the vertex's limit.
class cut final : public vertex_rows {
 public:
  cut(std::unique_ptr<row_pieces> of, std::uint64_t most) : of_(std::move(of)), left_(most) {}
  bool next(detail::table& rows, std::size_t about) override {
    if (!left_ || !of_->next(rows, about)) return false;
    rows = slice(rows, 0, left_);
    left_ -= rows.n;
    return true;
  }

 private:
  std::unique_ptr<row_pieces> of_;
  std::uint64_t left_;
};

std::unique_ptr<row_pieces> open_without_limit(const planner::vertex& v, runtime::run_context& context) {
  if (!v.node) return std::make_unique<all_rows>(v, context);
  switch (v.node->what) {
    case verb::take: return std::make_unique<first_rows>(v, v.node->count, context);
    case verb::take_while: return std::make_unique<rows_while>(v, context);
    case verb::skip:
    case verb::skip_while: return std::make_unique<later_rows>(v, context);
    case verb::concat: return std::make_unique<all_rows>(v, context);
    case verb::default_if_empty: return std::make_unique<rows_or_default>(v, context);
    case verb::chunk:
    case verb::window: return stream_of_runs(v, context);
    case verb::distinct:
    case verb::union_with: return stream_of_distinct(v, context);
    case verb::zip: return stream_of_zip(v, context);
    case verb::cross_join: return stream_of_pairs(v, context);
    default: throw internal_error("cpu engine: not a verb on streams: " + v.node->label);
  }
}

// What the library finds wrong in a function is that of this vertex's verb, whoever reads its rows.
class placed_rows final : public vertex_rows {
 public:
  placed_rows(const planner::vertex& v, runtime::run_context& context) : v_(&v), context_(&context) {}
  bool next(detail::table& rows, std::size_t about) override {
    try {
      if (!runtime::stack_room())
        throw detail::unplaced_error("too many verbs hand the rows of one source on to each other for the stack of this thread; put rows "
                                     "into a container on the way");
      if (!of_) of_ = open_without_limit(*v_, *context_);
      const detail::division_watch watch;
      const bool more = of_->next(rows, about);
      watch.check();
      return more;
    } catch (const detail::unplaced_error& e) {
      if (!v_->node) throw;
      detail::fail_at(e, *v_->node);
    } catch (const runtime::unplaced_cancelled& e) {
      if (!v_->node) throw;
      runtime::fail_at(e, *v_->node);
    }
  }

 private:
  const planner::vertex* v_;
  runtime::run_context* context_;
  std::unique_ptr<row_pieces> of_;
};

// Counts what a vertex does piece by piece.
class profiled_pieces final : public row_pieces {
 public:
  profiled_pieces(std::unique_ptr<row_pieces> of, const planner::vertex& v, runtime::run_context& context)
      : of_(std::move(of)), profile_(context.profile.get()), v_(&v) {}
  bool next(detail::table& rows, std::size_t about) override {
    const runtime::profiled_run::scope now(profile_, v_->number);
    if (!of_->next(rows, about)) return false;
    if (runtime::profiled_vertex* r = profile_->at(v_->number)) r->gave(rows.n, rows.n * v_->row()->size);
    return true;
  }
  bool prompt() const override { return of_->prompt(); }

 private:
  std::unique_ptr<row_pieces> of_;
  runtime::profiled_run* profile_;
  const planner::vertex* v_;
};

}  // namespace

std::unique_ptr<row_pieces> open_vertex(const planner::vertex& v, runtime::run_context& context) {
  if (context.verify && runtime::stack_room()) verify_vertex(v, context);
  std::unique_ptr<row_pieces> rows;
  if (v.node && v.node->what == verb::source_file) rows = stream_of_file(v, context);
  else rows = std::make_unique<placed_rows>(v, context);
  if (v.limit != ~0ull) rows = std::make_unique<cut>(std::move(rows), v.limit);
  if (context.profile) rows = std::make_unique<profiled_pieces>(std::move(rows), v, context);
  return rows;
}

}  // namespace query::cpu
