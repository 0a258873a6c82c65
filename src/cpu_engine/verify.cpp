#include "cpu_engine/verify.hpp"

#include <algorithm>
#include <optional>

#include "cpu_engine/function_calls.hpp"
#include "cpu_engine/pipeline.hpp"
#include "cpu_engine/sampled_pieces.hpp"
#include "cpu_engine/verify/difference.hpp"
#include "cpu_engine/verify/group_function.hpp"
#include "cpu_engine/verify/pair_function.hpp"
#include "cpu_engine/verify/row_function.hpp"
#include "cpu_engine/verify/run_function.hpp"
#include "cpu_engine/verify/sampled_rows.hpp"
#include "planner/join_condition.hpp"

namespace query::cpu {

using detail::logical;
using detail::verb;
using planner::stage;
using verify::sample_rows;

namespace {

class first_rows final : public detail::batch_sink {
 public:
  explicit first_rows(rows_buffer& to) : to_(&to) {}
  void push(const detail::row_block& block) override {
    if (to_->size() < sample_rows) to_->append_rows(block.rows, std::min(block.n, sample_rows - to_->size()));
  }

 private:
  rows_buffer* to_;
};

// Some rows that a branch gives. read: of rows of a source whose fields nobody reads all, those that somebody does.
struct sample {
  rows_buffer rows;
  std::vector<bool> read = {};
  verify::join_side side() const { return {rows.data(), rows.size(), rows.type(), false, read}; }
};

rows_buffer kept(const rows_buffer& rows, const std::vector<char>& keep, runtime::buffer_pool& pool) {
  rows_buffer left(rows.type(), pool);
  for (std::size_t i = 0; i < keep.size(); ++i)
    if (keep[i]) left.append_rows(rows.at(i), 1);
  return left;
}

bool can_copy(const ir::type* t) { return t->trivial || t->life.copy; }

bool only_tests(const stage& s) {
  return s.what == stage::kind::probe
             ? s.join->functions.size() == 2
             : std::all_of(s.nodes.begin(), s.nodes.end(), [](const logical* n) { return n->what == verb::where; });
}

// Of the rows that a vertex gives as a table.
std::vector<bool> read_of(const planner::vertex& v);
// Of the rows that a branch starts with.
std::vector<bool> read_first(const planner::branch& b) { return b.table ? read_of(*b.table) : b.wanted; }
std::vector<bool> read_of(const planner::vertex& v) {
  if (v.node) return v.wanted;
  const planner::branch& b = v.inputs.front();
  return std::all_of(b.stages.begin(), b.stages.end(), only_tests) ? read_first(b) : std::vector<bool>();
}

// A function that ends a sequence (take_while), or that takes rows of two inputs side by side (zip), tells no truth about rows that it
// would not meet: it is shown the first rows only.
bool needs_first_rows(const planner::vertex& v) {
  if (!v.node) return false;
  const verb what = v.node->what;
  return what == verb::take_while || what == verb::skip_while || what == verb::zip || what == verb::chunk || what == verb::window;
}

// Follows a sample of the rows of a branch through its functions.
class walk {
 public:
  explicit walk(runtime::run_context& context, bool first_only = false)
      : context_(&context), pool_(&context.pool), first_only_(first_only) {}

  // A sample of what the branch gives; none where it cannot be had.
  std::optional<sample> branch(const planner::branch& b) {
    const auto first_probe = std::find_if(b.stages.begin(), b.stages.end(), [](const stage& s) { return s.what == stage::kind::probe; });
    std::optional<rows_buffer> rows;
    if (comes_in_pieces(b, *context_)) {
      rows = through(b, first_probe, sample_of_pieces(b));
    } else {
      planner::branch bare = b;
      bare.stages.clear();
      bare.prefilters.clear();
      bare.row = nullptr;
      pipeline source(bare, {}, *context_);
      // Functions behind a filter that lets none of the rows pass would not be looked at: it gets others.
      std::size_t round = 0;
      do {
        context_->cancel.check();
        rows = through(b, first_probe, sample_of(source, round++));
      } while (rows && !rows->size() && !first_only_ && verify::has_round(static_cast<std::size_t>(*source.source_rows()), round));
    }
    for (auto s = first_probe; s != b.stages.end(); ++s) {
      if (rows) rows = s->what == stage::kind::probe ? probe(*s, *rows) : row_wise(*s, std::move(*rows));
      if (!only_tests(*s)) read_.clear();
    }
    if (!rows) return std::nullopt;
    return sample{std::move(*rows), std::move(read_)};
  }

 private:
  // What the filters and the stages before `end` leave of the rows.
  std::optional<rows_buffer> through(const planner::branch& b, std::vector<stage>::const_iterator end, std::optional<rows_buffer> rows) {
    read_ = read_first(b);
    for (const planner::prefilter& f : b.prefilters)
      if (rows) rows = prefilter(f, std::move(*rows));
    for (auto s = b.stages.begin(); s != end; ++s) {
      if (rows) rows = row_wise(*s, std::move(*rows));
      if (!only_tests(*s)) read_.clear();
    }
    return rows;
  }
  std::optional<rows_buffer> sample_of_pieces(const planner::branch& b) {
    const ir::type* t = b.table ? b.table->row() : b.source->row;
    if (!can_copy(t)) return std::nullopt;
    rows_buffer rows(t, *pool_);
    sample_pieces(b, *context_, [&](const detail::table& piece) { rows.append_rows(piece.rows, std::min(piece.n, sample_rows)); });
    return rows;
  }
  std::optional<rows_buffer> sample_of(pipeline& p, std::size_t round) {
    if (!can_copy(p.row())) return std::nullopt;
    rows_buffer rows(p.row(), *pool_);
    first_rows sink(rows);
    const auto n = static_cast<std::size_t>(*p.source_rows());
    const auto run = [&](std::size_t first, std::size_t count) {
      p.run_rows(first, count, [&](const pipeline::part& part) { part.run(sink); });
    };
    if (first_only_) run(0, std::min(n, sample_rows));
    else verify::for_each_run(n, round, run);
    return rows;
  }
  // Later functions see only rows that pass.
  std::optional<rows_buffer> prefilter(const planner::prefilter& f, rows_buffer rows) {
    if (f.expression) {
      interpreter::scratch scratch;
      const auto pass = std::make_unique<bool[]>(rows.size());
      function_calls(f.expression, rows.type()).filter(rows.data(), rows.size(), pass.get(), scratch);
      return kept(rows, {pass.get(), pass.get() + rows.size()}, *pool_);
    }
    if (f.function->row != rows.type() || !f.function->native.filter) return rows;
    const std::vector<char> pass = verify::row_function(*f.from, *f.function, read_, *pool_).filter(rows);
    return kept(rows, pass, *pool_);
  }
  std::optional<rows_buffer> row_wise(const stage& s, rows_buffer rows) {
    const rows_buffer before = copy(rows);
    for (const logical* n : s.nodes) {
      const detail::user_function& f = n->functions.front();
      // Functions of the row's number and those that give collections have one form only.
      if (f.row == rows.type() && f.native.expand && can_copy(n->row)) {
        // The expression first: what it throws for, native code may not survive.
        if (planner::may_trap(f.trace())) evaluate_lists(f, rows);
        rows_buffer elements(n->row, *pool_);
        first_rows sink(elements);
        f.native.expand(f.f.get(), rows.data(), rows.size(), sink);
        rows = std::move(elements);
        read_.clear();
        continue;
      }
      if (!verify::takes(f, rows.type())) return through_loop(s, before);
      verify::row_function both(*n, f, read_, *pool_);
      if (n->what == verb::where) {
        rows = kept(rows, both.filter(rows), *pool_);
      } else {
        rows = both.map(rows);
        read_.clear();
      }
    }
    return rows;
  }
  // The lists that a function of select_many gives, by its expression, if it has one, for what that throws.
  void evaluate_lists(const detail::user_function& f, const rows_buffer& rows) {
    const planner::interpretation lists = planner::interpret_lists(f);
    if (!lists) return;
    const function_calls calls{lists};
    rows_buffer made(calls.interpreted_type(), *pool_);
    interpreter::scratch scratch;
    calls.map(interpreter::binding{rows.data(), f.row->size, {}}, rows.size(), made.extend(rows.size()), scratch);
    made.grow(rows.size());
  }
  std::optional<rows_buffer> through_loop(const stage& s, const rows_buffer& rows) {
    if (!s.native || rows.type() != s.native->in || !can_copy(s.native->out)) return std::nullopt;
    // Native code may not survive these rows; the query, whose functions the interpreter runs, says what is wrong with them.
    const auto traps = [](const logical* n) { return planner::may_trap(n->functions.front().trace()); };
    if (std::any_of(s.nodes.begin(), s.nodes.end(), traps)) return std::nullopt;
    detail::row_block block;
    block.rows = rows.data();
    block.n = rows.size();
    rows_buffer out(s.native->out, *pool_);
    first_rows sink(out);
    s.native->run(block, false, sink);
    return out;
  }
  // Rows that meet a join's hash table. The other side is there as a whole.
  std::optional<rows_buffer> probe(const stage& s, const rows_buffer& rows) {
    const detail::table& table = context_->table_of(*s.build);
    const verify::join_side met{rows.data(), rows.size(), rows.type(), false, read_},
        built{table.rows, table.n, table.type, true, read_of(*s.build)};
    const verify::join_side &left = s.build_left ? built : met, &right = s.build_left ? met : built;
    const verify::pairs pairs = verify::joined(*s.join, left, right, *pool_);
    if (s.join->functions.size() > 2) return verify::map_pairs(*s.join, left, right, pairs, *pool_);
    rows_buffer out(rows.type(), *pool_);
    for (const void* l : pairs.left) out.append_rows(l, 1);
    return out;
  }
  rows_buffer copy(const rows_buffer& rows) {
    rows_buffer c(rows.type(), *pool_);
    c.append_rows(rows.data(), rows.size());
    return c;
  }

  runtime::run_context* context_;
  runtime::buffer_pool* pool_;
  bool first_only_;
  std::vector<bool> read_;  // sample::read of the rows in hand
};

// A function that throws on a row of the sample may never meet that row in the query (take_while, an earlier filter).
template <class F> void ignoring_failures(F check) {
  try {
    check();
  } catch (const verify::difference&) {
    throw;
  } catch (const std::exception&) {
  }
}

// Joins that are vertices: right and full ones need their left rows as a whole, to know which right rows have no match. A stream
// is read once, by the join itself: of its rows there is the sample.
void verify_join(const planner::vertex& v, const sample& left, const sample& right, runtime::run_context& context) {
  const logical& join = *v.node;
  detail::table tables[2];
  const auto side = [&](std::size_t i, const sample& first, bool whole) {
    verify::join_side s = first.side();
    if (!whole || comes_in_pieces(v.inputs[i], context)) return s;
    tables[i] = collect(v.inputs[i], v.captures, context);
    s.rows = tables[i].rows;
    s.n = tables[i].n;
    s.all = true;
    return s;
  };
  const bool pairs_too = join.what == verb::join;
  const verify::join_side r = side(1, right, true), l = side(0, left, pairs_too);
  const verify::pairs pairs = verify::joined(join, l, r, context.pool);
  if (pairs_too) verify::map_pairs(join, l, r, pairs, context.pool);
  else verify::check_matches_function(join, l, pairs, context.pool);
}

void verify_verb(const planner::vertex& v, std::vector<std::optional<sample>>& inputs, runtime::run_context& context) {
  const logical& n = *v.node;
  const auto both = [&] { return inputs.size() > 1 && inputs[0] && inputs[1]; };
  switch (n.what) {
    case verb::join:
    case verb::group_join:
      if (both()) verify_join(v, *inputs[0], *inputs[1], context);
      return;
    case verb::cross_join:
    case verb::zip: {
      if (!both()) return;
      const rows_buffer &l = inputs[0]->rows, &r = inputs[1]->rows;
      verify::pairs pairs;
      if (n.what == verb::zip) {
        for (std::size_t i = 0; i < std::min(l.size(), r.size()); ++i) pairs.add(l.at(i), r.at(i));
      } else {
        constexpr std::size_t side = 32;  // about sample_rows pairs
        for (std::size_t i = 0; i < std::min(l.size(), side); ++i)
          for (std::size_t j = 0; j < std::min(r.size(), side); ++j) pairs.add(l.at(i), r.at(j));
      }
      if (planner::has_condition(n)) pairs = verify::chosen(n, inputs[0]->side(), inputs[1]->side(), pairs, context.pool);
      verify::map_pairs(n, inputs[0]->side(), inputs[1]->side(), pairs, context.pool);
      return;
    }
    case verb::chunk:
    case verb::window:
      if (inputs[0]) verify::check_run_function(n, inputs[0]->rows, inputs[0]->read, context.pool);
      return;
    default: break;
  }
  for (const auto& input : inputs) {
    if (!input) continue;
    const rows_buffer& rows = input->rows;
    for (const detail::user_function& f : n.functions) {
      if (!verify::takes(f, rows.type())) continue;
      verify::row_function form(n, f, input->read, context.pool);
      if (n.what == verb::take_while || n.what == verb::skip_while)
        form.filter_to_first_failure(rows);
      else if (f.native.map)
        form.map(rows);
      else
        form.filter(rows);
    }
    if (n.what == verb::group_by || n.what == verb::aggregate) verify::check_group_function(n, rows, input->read, context.pool);
  }
}

}  // namespace

void verify_vertex(const planner::vertex& v, runtime::run_context& context) {
  const auto bindings = context.bind(v.captures);
  const detail::binding_scope scope(bindings);
  std::vector<std::optional<sample>> inputs;
  for (const planner::branch& b : v.inputs) {
    inputs.emplace_back();
    ignoring_failures([&] { inputs.back() = walk(context, needs_first_rows(v)).branch(b); });
  }
  if (v.node) ignoring_failures([&] { verify_verb(v, inputs, context); });
}

void verify_branch(const planner::branch& b, const std::vector<planner::binding>& captures, runtime::run_context& context) {
  const auto bindings = context.bind(captures);
  const detail::binding_scope scope(bindings);
  ignoring_failures([&] { (void)walk(context).branch(b); });
}

}  // namespace query::cpu
