// The row-wise stages of a pipeline: the user's compiled segment, or its functions as batch calls or by the interpreter.
#include <algorithm>
#include <cstring>

#include <query/cpu/segment_form.hpp>
#include <query/detail/division_watch.hpp>
#include <query/detail/failure.hpp>

#include "cpu_engine/function_calls.hpp"
#include "cpu_engine/join.hpp"
#include "cpu_engine/pipeline.hpp"
#include "cpu_engine/placed_calls.hpp"
#include "ir/analysis.hpp"
#include "planner/partitions.hpp"

namespace query::cpu {

using detail::batch_sink;
using detail::logical;
using detail::row_block;
using detail::verb;

namespace {

// The verb that an error comes from: in fused code only one of them may fail, or nobody knows.
const logical* the_one_that_may_fail(const std::vector<const logical*>& verbs) {
  const logical* one = nullptr;
  for (const logical* n : verbs)
    for (const detail::user_function& f : n->functions) {
      const ir::traced t = f.trace();
      if (t && ir::speculatable(t.root)) continue;
      if (one && one != n) return nullptr;
      one = n;
    }
  return one;
}

class native_stage final : public prepared_stage {
 public:
  explicit native_stage(const planner::stage& s) : segment_(s.native), verbs_(s.nodes), speculate_(s.speculate) {}
  std::unique_ptr<stage_runner> start(batch_sink& next) const override { return std::make_unique<runner>(*this, next); }

 private:
  // Errors of the verbs above pass through the segment's code: they are not its own.
  struct verbs_above final : batch_sink {
    explicit verbs_above(batch_sink& s) : sink(&s) {}
    void push(const row_block& b) override {
      failed = true;
      const detail::division_watch watch;
      sink->push(b);
      watch.check();
      failed = false;
    }
    batch_sink* sink;
    bool failed = false;
  };
  class runner final : public stage_runner {
   public:
    runner(const native_stage& s, batch_sink& next) : stage_(&s), next_(next) {}
    void push(const row_block& b) override {
      next_.failed = false;
      placed([&] { stage_->segment_->run(b, stage_->speculate_, next_); });
    }
    bool fold(detail::fold_kind k, const row_block& b, detail::fold_state& s) override {
      bool folds = false;
      placed([&] { folds = stage_->segment_->fold(k, b, stage_->speculate_, s); });
      return folds;
    }

   private:
    template <class Call> void placed(Call call) const {
      try {
        const detail::division_watch watch;
        call();
        watch.check();
      } catch (const detail::unplaced_error& e) {
        const logical* verb = next_.failed ? nullptr : the_one_that_may_fail(stage_->verbs_);
        if (!verb) throw;
        detail::fail_at(e, *verb);
      }
    }
    const native_stage* stage_;
    verbs_above next_;
  };
  std::shared_ptr<const detail::segment> segment_;
  std::vector<const logical*> verbs_;
  bool speculate_;
};

// Rows that pass a test go on: copied side by side where that is cheap, else as runs of the rows where they lie.
class filter_runner final : public stage_runner {
 public:
  filter_runner(const function_calls& f, const logical* verb, const ir::type* row, runtime::buffer_pool& pool, batch_sink& next)
      : test_(&f), verb_(verb), row_(row), kept_(row, pool), next_(&next) {}
  void push(const row_block& b) override {
    for (std::size_t from = 0; from < b.n; from += batch_rows) {
      const std::size_t n = std::min(batch_rows, b.n - from);
      std::byte* rows = static_cast<std::byte*>(b.rows) + from * row_->size;
      placed_calls(verb_, [&] { test_->filter(rows, b.first + from, n, pass_, scratch_); });
      if (row_->trivial && row_->size <= 256) compact(rows, n);
      else push_runs(b, rows, n);
    }
  }

 private:
  void compact(const std::byte* rows, std::size_t n) {
    kept_.clear();
    std::byte* to = static_cast<std::byte*>(kept_.extend(batch_rows));
    std::size_t k = 0;
    for (std::size_t i = 0; i < n; ++i) {
      std::memcpy(to + k * row_->size, rows + i * row_->size, row_->size);
      k += pass_[i];
    }
    if (!k) return;
    row_block out;
    out.rows = to;
    out.n = k;
    out.owned = true;
    next_->push(out);
  }
  void push_runs(const row_block& b, std::byte* rows, std::size_t n) {
    for (std::size_t i = 0; i < n;) {
      if (!pass_[i]) {
        ++i;
        continue;
      }
      std::size_t j = i + 1;
      while (j < n && pass_[j]) ++j;
      row_block out;
      out.rows = rows + i * row_->size;
      out.n = j - i;
      out.owned = b.owned;
      next_->push(out);
      i = j;
    }
  }
  const function_calls* test_;
  const logical* verb_;
  const ir::type* row_;
  rows_buffer kept_;
  interpreter::scratch scratch_;
  bool pass_[batch_rows];
  batch_sink* next_;
};

class map_runner final : public stage_runner {
 public:
  map_runner(const function_calls& f, const logical* verb, const ir::type* in, const ir::type* out, runtime::buffer_pool& pool,
             batch_sink& next)
      : map_(&f), verb_(verb), in_(in), out_(out, pool), next_(&next) {}
  void push(const row_block& b) override {
    for (std::size_t from = 0; from < b.n; from += batch_rows) {
      const std::size_t n = std::min(batch_rows, b.n - from);
      out_.clear();
      const std::byte* const rows = static_cast<const std::byte*>(b.rows) + from * in_->size;
      placed_calls(verb_, [&] { map_->map(rows, b.first + from, n, out_.extend(n), scratch_); });
      out_.grow(n);
      row_block out;
      out.rows = out_.data();
      out.n = n;
      out.first = b.first + from;
      out.owned = true;
      next_->push(out);
    }
  }

 private:
  const function_calls* map_;
  const logical* verb_;
  const ir::type* in_;
  rows_buffer out_;
  interpreter::scratch scratch_;
  batch_sink* next_;
};

// select_many: the elements of each row go on in batches.
class expand_runner final : public stage_runner {
 public:
  // lists: the function's, where it has to be checked.
  expand_runner(const detail::user_function& f, const function_calls& lists, const logical* verb, runtime::buffer_pool& pool,
                batch_sink& next)
      : function_(&f), lists_(lists.is_interpreted() ? &lists : nullptr), verb_(verb), pool_(&pool), next_(&next) {}
  void push(const row_block& b) override {
    placed_calls(verb_, [&] {
      if (lists_) check(b);
      function_->native.expand(function_->f.get(), b.rows, b.n, *next_);
    });
  }

 private:
  void check(const row_block& b) {
    rows_buffer made(lists_->interpreted_type(), *pool_);
    for (std::size_t from = 0; from < b.n; from += batch_rows) {
      const std::size_t n = std::min(batch_rows, b.n - from);
      made.clear();
      lists_->map(interpreter::binding{static_cast<const std::byte*>(b.rows) + from * function_->row->size, function_->row->size, {}}, n,
                  made.extend(n), scratch_);
      made.grow(n);
    }
  }
  const detail::user_function* function_;
  const function_calls* lists_;
  const logical* verb_;
  runtime::buffer_pool* pool_;
  interpreter::scratch scratch_;
  batch_sink* next_;
};

// where, select and select_many, one function after the other.
class functions_stage final : public prepared_stage {
 public:
  functions_stage(const planner::stage& s, runtime::run_context& context) : pool_(&context.pool) {
    const ir::type* in = s.in;
    for (const logical* n : s.nodes) {
      placed_calls(n, [&] {
        const detail::user_function& f = n->functions[0];
        const bool interpreted = s.how == planner::form::interpreted;
        const bool checked_lists = interpreted && f.native.expand && planner::may_trap(f.trace());
        function_calls calls = checked_lists ? function_calls(planner::interpret_lists(f)) : function_calls(f, interpreted, false);
        steps_.push_back({std::move(calls), n, in, n->row});
      });
      in = n->row;
    }
  }
  std::unique_ptr<stage_runner> start(batch_sink& next) const override { return std::make_unique<runner>(*this, next); }

 private:
  struct step {
    function_calls calls;
    const logical* node;
    const ir::type *in, *out;
  };
  class runner final : public stage_runner {
   public:
    runner(const functions_stage& s, batch_sink& next) {
      batch_sink* to = &next;
      for (std::size_t i = s.steps_.size(); i-- > 0;) {
        const step& x = s.steps_[i];
        if (x.node->what == verb::select_many)
          parts_.push_back(std::make_unique<expand_runner>(x.node->functions[0], x.calls, x.node, *s.pool_, *to));
        else if (x.node->what == verb::where) parts_.push_back(std::make_unique<filter_runner>(x.calls, x.node, x.in, *s.pool_, *to));
        else parts_.push_back(std::make_unique<map_runner>(x.calls, x.node, x.in, x.out, *s.pool_, *to));
        to = parts_.back().get();
      }
      head_ = to;
    }
    void push(const row_block& b) override { head_->push(b); }

   private:
    std::vector<std::unique_ptr<stage_runner>> parts_;
    batch_sink* head_;
  };
  std::vector<step> steps_;
  runtime::buffer_pool* pool_;
};

class prefilter_stage final : public prepared_stage {
 public:
  prefilter_stage(const planner::prefilter& f, const ir::type* row, runtime::buffer_pool& pool)
      : calls_(f.expression ? function_calls(f.expression, row) : function_calls(*f.function, f.interpreted, true)),
        row_(row),
        pool_(&pool) {}
  std::unique_ptr<stage_runner> start(batch_sink& next) const override {
    return std::make_unique<filter_runner>(calls_, nullptr, row_, *pool_, next);
  }

 private:
  function_calls calls_;
  const ir::type* row_;
  runtime::buffer_pool* pool_;
};

// Row numbers of a partition, between those of the one before and those of the next.
class apart_stage final : public prepared_stage {
 public:
  apart_stage(std::unique_ptr<prepared_stage> of, std::uint32_t partition) : of_(std::move(of)), begin_(partition * rows_a_partition) {}
  std::unique_ptr<stage_runner> start(batch_sink& next) const override { return std::make_unique<runner>(of_->start(next), begin_); }

 private:
  static constexpr std::uint64_t rows_a_partition = std::uint64_t{1} << 40;
  class runner final : public stage_runner {
   public:
    runner(std::unique_ptr<stage_runner> of, std::uint64_t begin) : of_(std::move(of)), begin_(begin) {}
    void push(const row_block& b) override { of_->push(moved(b)); }
    bool fold(detail::fold_kind k, const row_block& b, detail::fold_state& s) override { return of_->fold(k, moved(b), s); }

   private:
    row_block moved(row_block b) const {
      b.first += begin_;
      return b;
    }
    std::unique_ptr<stage_runner> of_;
    std::uint64_t begin_;
  };
  std::unique_ptr<prepared_stage> of_;
  std::uint64_t begin_;
};

}  // namespace

std::unique_ptr<prepared_stage> prepare_stage(const planner::stage& s, const std::vector<detail::binding>& bindings,
                                              runtime::run_context& context) {
  if (s.what == planner::stage::kind::probe) return prepare_probe(s, context, bindings);
  std::unique_ptr<prepared_stage> made;
  if (s.native && s.how == planner::form::native) made = std::make_unique<native_stage>(s);
  else made = std::make_unique<functions_stage>(s, context);
  if (context.partition && !s.nodes.empty() && planner::is_numbered_apart(*s.nodes.back()))
    made = std::make_unique<apart_stage>(std::move(made), context.partition);
  return made;
}
std::unique_ptr<prepared_stage> prepare_prefilter(const planner::prefilter& f, const ir::type* row, runtime::run_context& context) {
  return std::make_unique<prefilter_stage>(f, row, context.pool);
}
}  // namespace query::cpu
