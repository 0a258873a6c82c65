#include "cpu_engine/verify.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <query/detail/failure.hpp>

#include "cpu_engine/captured.hpp"
#include "cpu_engine/pipeline.hpp"
#include "data/format_value.hpp"

namespace query::cpu {

using detail::logical;
using detail::verb;

namespace {

constexpr std::size_t sample_rows = 1000;

struct difference : user_error {
  using user_error::user_error;
};

template <class T> bool close(const void* a, const void* b, double tolerance) {
  T x, y;
  std::memcpy(&x, a, sizeof x);
  std::memcpy(&y, b, sizeof y);
  if (x == y || (x != x && y != y)) return true;
  return std::abs(static_cast<double>(x) - static_cast<double>(y)) <= tolerance * std::max(std::abs(static_cast<double>(x)), std::abs(static_cast<double>(y)));
}

// Equal, or floats apart by no more than contraction of a * b + c explains.
bool same(const ir::type* t, const void* a, const void* b) {
  const auto part = [](const void* p, std::size_t at) { return static_cast<const std::byte*>(p) + at; };
  switch (t->k) {
    case ir::kind::f32: return close<float>(a, b, 1e-4);
    case ir::kind::f64: return close<double>(a, b, 1e-9);
    case ir::kind::string: return *static_cast<const std::string*>(a) == *static_cast<const std::string*>(b);
    case ir::kind::record:
      return std::all_of(t->field_list.begin(), t->field_list.end(), [&](const ir::field& f) { return same(f.of, part(a, f.offset), part(b, f.offset)); });
    case ir::kind::array:
      for (std::size_t i = 0; i < t->count; ++i)
        if (!same(t->element, part(a, i * t->element->size), part(b, i * t->element->size))) return false;
      return true;
    case ir::kind::optional: {
      const void *x = t->get.value(a), *y = t->get.value(b);
      return (!x && !y) || (x && y && same(t->element, x, y));
    }
    case ir::kind::list: {
      const std::size_t n = t->get.size(a);
      if (n != t->get.size(b)) return false;
      for (std::size_t i = 0; i < n; ++i)
        if (!same(t->element, part(t->get.data(a), i * t->element->size), part(t->get.data(b), i * t->element->size))) return false;
      return true;
    }
    case ir::kind::opaque: return true;  // nothing to look at
    default: return std::memcmp(a, b, t->size) == 0;
  }
}

// Both forms of one function over rows; gives the native results, to go on with.
class checker {
 public:
  checker(const logical& n, const detail::user_function& f) : node_(&n), function_(&f), expression_(f.trace()) {
    if (expression_ && knows_captures(f, expression_.root) && f.row) program_.emplace(expression_.root);
  }
  void map(const rows_buffer& rows, rows_buffer& out) {
    function_->native.map(function_->f.get(), rows.data(), nullptr, rows.size(), out.extend(rows.size()));
    out.grow(rows.size());
    if (!program_) return;
    const auto collections = captured_collections(function_);
    for (std::size_t from = 0; from < rows.size(); from += 1024) {
      const std::size_t n = std::min<std::size_t>(1024, rows.size() - from);
      rows_buffer traced(function_->result, context_pool(out));
      const interpreter::binding row{rows.at(from), rows.type()->size, {}};
      program_->run({&row, 1}, {collections, {}}, n, traced.extend(n), scratch_);
      traced.grow(n);
      for (std::size_t i = 0; i < n; ++i)
        if (!same(function_->result, out.at(from + i), traced.at(i))) differ(rows, from + i, out.at(from + i), traced.at(i), function_->result);
    }
  }
  void filter(const rows_buffer& rows, std::vector<char>& keep) {
    const auto pass = std::make_unique<bool[]>(rows.size());
    function_->native.filter(function_->f.get(), rows.data(), rows.size(), pass.get());
    if (program_) {
      const auto collections = captured_collections(function_);
      const auto traced = std::make_unique<bool[]>(rows.size());
      const interpreter::binding row{rows.data(), rows.type()->size, {}};
      program_->filter({&row, 1}, {collections, {}}, rows.size(), traced.get(), scratch_);
      for (std::size_t i = 0; i < rows.size(); ++i)
        if (pass[i] != traced[i]) differ(rows, i, &pass[i], &traced[i], ir::describe<bool>());
    }
    keep.assign(pass.get(), pass.get() + rows.size());
  }
  void set_pool(runtime::buffer_pool& p) { pool_ = &p; }

 private:
  runtime::buffer_pool& context_pool(const rows_buffer&) { return *pool_; }
  [[noreturn]] void differ(const rows_buffer& rows, std::size_t i, const void* native, const void* traced, const ir::type* t) const {
    throw difference("verify: " + node_->label + ", " + std::string(function_->role) + ": row " + std::to_string(i) + " = " + data::format_value(rows.type(), rows.at(i)) +
                     ": native " + data::format_value(t, native, 17) + ", traced " + data::format_value(t, traced, 17) + " by " +
                     ir::show(expression_) + "; the function does something that tracing cannot see: wrap it in query::opaque(...) (" + detail::place_of(node_->where) + ")");
  }
  const logical* node_;
  const detail::user_function* function_;
  ir::traced expression_;
  std::optional<interpreter::program> program_;
  interpreter::scratch scratch_;
  runtime::buffer_pool* pool_ = nullptr;
};

// The first rows of the branch before its stages.
rows_buffer sample_of(const planner::branch& b, runtime::run_context& context) {
  planner::branch bare = b;
  bare.stages.clear();
  bare.prefilters.clear();
  bare.row = nullptr;
  pipeline p(bare, {}, context);
  rows_buffer rows(p.row(), context.pool);
  struct first_rows final : detail::batch_sink {
    explicit first_rows(rows_buffer& r) : to(&r) {}
    void push(const detail::row_block& block) override {
      if (to->size() < sample_rows) to->append_rows(block.rows, std::min(block.n, sample_rows - to->size()));
    }
    rows_buffer* to;
  } sink(rows);
  p.run_some(1, [&](const pipeline::part& part) { part.run(sink); });
  return rows;
}

}  // namespace

namespace {
void check_branch(const planner::branch& b, const std::vector<planner::binding>& captures, const logical* reader, runtime::run_context& context) {
  // A stream's rows can be read only once in a run.
  if ((b.source && b.source->open) || (b.table && b.table->streamed)) return;
  rows_buffer rows = sample_of(b, context);
  if (!rows.type()->trivial && !rows.type()->life.copy) return;
  const auto bindings = context.bind(captures);
  const detail::binding_scope scope(bindings);
  for (const planner::stage& s : b.stages) {
    if (s.what != planner::stage::kind::rowwise) return;  // joins are checked where they run
    for (const logical* n : s.nodes) {
      const detail::user_function& f = n->functions.front();
      if (f.row != rows.type() || (!f.native.map && !f.native.filter)) return;
      checker check(*n, f);
      check.set_pool(context.pool);
      if (n->what == verb::where) {
        std::vector<char> keep;
        check.filter(rows, keep);
        rows_buffer left(rows.type(), context.pool);
        for (std::size_t i = 0; i < keep.size(); ++i)
          if (keep[i]) left.append_rows(rows.at(i), 1);
        rows = std::move(left);
      } else {
        rows_buffer next(n->row, context.pool);
        check.map(rows, next);
        rows = std::move(next);
      }
    }
  }
  if (!reader) return;
  for (const detail::user_function& f : reader->functions) {
    if (f.row != rows.type() || f.native.map_pairs) continue;
    checker check(*reader, f);
    check.set_pool(context.pool);
    if (f.native.map) {
      rows_buffer keys(f.result, context.pool);
      check.map(rows, keys);
    } else if (f.native.filter) {
      std::vector<char> keep;
      check.filter(rows, keep);
    }
  }
}

}  // namespace

void verify_branch(const planner::branch& b, const std::vector<planner::binding>& captures, const logical* reader, runtime::run_context& context) {
  try {
    check_branch(b, captures, reader, context);
  } catch (const difference&) {
    throw;
  } catch (const std::exception&) {
    // A function that throws on a row of the sample may never meet that row in the query (take_while, an earlier filter).
  }
}

}  // namespace query::cpu
