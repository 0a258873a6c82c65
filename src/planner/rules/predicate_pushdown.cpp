// A where above a sort, a set verb, a concatenation or a join tests the rows below it as well, so that fewer are sorted,
// hashed or joined. The where itself stays in the user's compiled loop: there its test is cheap, and nothing depends on how
// much of it went down.
//
// Below, the function sees rows that it would not have seen: it goes down only if that cannot be noticed. It is called
// natively where rows have its own type, and interpreted where the trees of selects and joins were put into it.
#include <algorithm>
#include <optional>

#include "ir/analysis.hpp"
#include "planner/names.hpp"
#include "planner/rules/edges.hpp"
#include "planner/rules/expressions.hpp"

namespace query::planner::rules {

using detail::join_kind;
using detail::verb;

namespace {

// A test on its way down.
struct predicate {
  const logical* from;
  const detail::user_function* function;  // null once it was rewritten
  ir::traced tree;                        // over the rows where it is now
};

enum class placed { nowhere, partly, wholly };

class pushing {
 public:
  explicit pushing(rewriting& r) : r_(r), edges_(r.graph) {
    std::size_t verbs = 0;
    each_branch(r.graph, [&](const branch& b, vertex*) { verbs += 1 + b.stages.size(); });
    steps_left_ = verbs * most_steps;
  }

  void from_wheres_of(branch& b, vertex* reader) {
    const auto probes = [](const stage& s) { return s.what == stage::kind::probe; };
    if (!b.table && std::none_of(b.stages.begin(), b.stages.end(), probes)) return;
    struct where_of_stage {
      const logical* n;
      std::size_t stage;
    };
    std::vector<where_of_stage> wheres;
    for (std::size_t i = 0; i < b.stages.size(); ++i)
      if (b.stages[i].native)
        for (const logical* n : b.stages[i].nodes) {
          if (n->what != verb::where || numbers_rows(*n)) break;  // what follows a test of row numbers must not change them
          wheres.push_back({n, i});
        }
    // Tests that were put between stages move those behind them.
    const std::size_t stages = b.stages.size();
    for (const where_of_stage& w : wheres)
      if (auto p = predicate_of(*w.n)) push(b, reader, w.stage + b.stages.size() - stages, *p);
  }

 private:
  static bool numbers_rows(const logical& where) { return !where.functions.front().native.filter; }
  static bool numbers_rows(const stage& s) { return s.native && s.native->needs_position(); }

  // Functions that read captured collections stay where those are bound.
  std::optional<predicate> predicate_of(const logical& n) {
    const detail::user_function& f = n.functions.front();
    if (numbers_rows(n)) return std::nullopt;  // the row has another number below
    const ir::traced& t = r_.trace(f);
    if (!t || !f.captures.empty() || ir::has_capture(t.root)) return std::nullopt;
    if (ir::speculatable(t.root)) return predicate{&n, &f, t};
    if (same_when_interpreted(t.root)) return predicate{&n, nullptr, t};
    return std::nullopt;
  }

  // p is a test of stage i.
  void push(branch& b, vertex* reader, std::size_t i, const predicate& p) {
    passed_.clear();
    steps_ = 0;
    const placed done = settle(b, reader, i, p, false);
    if (done == placed::nowhere) return;
    if (i == 0 && done == placed::wholly) r_.passed.insert({b.table, p.from});
    std::string text = "predicate_pushdown: " + shown(p.tree) + " of " + verb_at(*p.from) + " goes below ";
    for (std::size_t k = 0; k < passed_.size(); ++k) text += (k ? ", " : "") + passed_[k];
    note(r_, reader, std::move(text));
  }

  // Finds the lowest place for p, which holds for rows before stage i of b.
  placed settle(branch& b, vertex* reader, std::size_t i, const predicate& p, bool below) {
    if (steps_left_ == 0) return placed::nowhere;
    --steps_left_;
    if (++steps_ > most_steps) return !below ? placed::nowhere : i == 0 ? put_first(b, p) : put_at(b, i, p);
    if (i == 0) {
      const placed done = b.table ? through_table(*b.table, p) : placed::nowhere;
      return done == placed::nowhere && below ? put_first(b, p) : done;
    }
    placed done = placed::nowhere;
    if (b.stages[i - 1].what == stage::kind::probe) done = through_probe(b, reader, i - 1, p);
    else if (only_filters(b.stages[i - 1]) && !numbers_rows(b.stages[i - 1])) done = settle(b, reader, i - 1, p, below);
    else if (below || leads_on(b, i - 1))
      if (const auto rewritten = below_selects(b.stages[i - 1], p)) done = settle(b, reader, i - 1, *rewritten, below);
    return done == placed::nowhere && below ? put_at(b, i, p) : done;
  }
  // Native code that may round otherwise than the where does must not decide what the where lets through.
  static placed wholly_unless_rounded(const predicate& p) { return may_contract(p.tree.root) ? placed::partly : placed::wholly; }

  // Is there a verb further down that p might pass? Else interpreting it again would be a waste.
  static bool leads_on(const branch& b, std::size_t i) {
    if (b.table && i <= most_steps) return true;
    return std::any_of(b.stages.begin() + static_cast<std::ptrdiff_t>(i > most_steps ? i - most_steps : 0),
                       b.stages.begin() + static_cast<std::ptrdiff_t>(i), [](const stage& s) { return s.what == stage::kind::probe; });
  }

  // A compiled loop that reads columns, or row numbers, must see all rows of its source.
  static bool takes_all_rows(const branch& b) {
    return !b.stages.empty() && b.stages.front().native &&
           (b.stages.front().native->reads_columns() || b.stages.front().native->needs_position());
  }
  placed put_first(branch& b, const predicate& p) {
    if (takes_all_rows(b)) return placed::nowhere;
    prefilter f;
    f.function = p.function;
    if (!p.function) f.expression = p.tree;
    f.from = p.from;
    b.prefilters.push_back(std::move(f));
    return wholly_unless_rounded(p);
  }
  placed put_at(branch& b, std::size_t i, const predicate& p) {
    if (!p.function) return placed::nowhere;
    stage s;
    s.nodes = {p.from};
    s.how = form::thunks;
    s.in = s.out = p.from->row;
    b.stages.insert(b.stages.begin() + static_cast<std::ptrdiff_t>(i), std::move(s));
    return wholly_unless_rounded(p);
  }

  // p over the rows before a stage with selects: recomputed, by the interpreter.
  std::optional<predicate> below_selects(const stage& s, const predicate& p) {
    if (numbers_rows(s)) return std::nullopt;
    predicate q = p;
    for (std::size_t i = s.nodes.size(); i-- > 0;) {
      const logical& n = *s.nodes[i];
      if (n.what == verb::where) continue;
      if (n.what != verb::select) return std::nullopt;
      const ir::traced& t = r_.trace(n.functions.front());
      if (!t) return std::nullopt;
      auto next = rewritten(q, q.tree.root, t);
      if (!next) return std::nullopt;
      q = *next;
    }
    return q;
  }
  // The condition `body` of p over the rows that `row` makes its own row of.
  std::optional<predicate> rewritten(const predicate& p, const ir::node* body, const ir::traced& row) {
    predicate q{p.from, nullptr, {}};
    q.tree.owner = std::make_shared<ir::arena>();
    try {
      const ir::node* const rows[] = {fields_first(*q.tree.owner, row.root)};
      const ir::node* made = ir::substitute(*q.tree.owner, body, rows);
      if (!made || !same_when_interpreted(made)) return std::nullopt;
      q.tree.root = ir::renumber_row(*q.tree.owner, made, 0, 0);  // a copy: `made` shares nodes with the trees put into it
    } catch (const untraceable&) {  // too large
      return std::nullopt;
    }
    return q;
  }

  placed through_table(vertex& v, const predicate& p) {
    if (!v.node || v.limit != ~0ull) return placed::nowhere;
    const edge e = edges_.only_reader(v);
    if (e.how != edge::kind::rows && e.how != edge::kind::build) return placed::nowhere;
    if (v.node->what == verb::join || v.node->what == verb::cross_join)
      return through_join(*v.node, p, [&](bool right, const predicate& q) { return settle_last(v, right ? 1 : 0, q); });
    if (!keeps_meaning(*v.node, p)) return placed::nowhere;
    return passing(*v.node, [&](auto add) {
      for (std::size_t i = 0; i < v.inputs.size(); ++i) add(settle_last(v, i, p));
    });
  }
  placed settle_last(vertex& v, std::size_t input, const predicate& p) {
    branch& b = v.inputs[input];
    return settle(b, &v, b.stages.size(), p, true);
  }
  // Adds up what became of the parts of a predicate below a verb; the verb is remembered for the note if any part got there.
  template <class Parts> placed passing(const logical& n, Parts parts) {
    const std::size_t mark = passed_.size();
    passed_.push_back(verb_at(n));
    bool any = false, all = true;
    parts([&](placed done) {
      any = any || done != placed::nowhere;
      all = all && done == placed::wholly;
    });
    if (!any) passed_.resize(mark);
    return !any ? placed::nowhere : all ? placed::wholly : placed::partly;
  }

  // Do the same rows come out if the test is made on the way in?
  bool keeps_meaning(const logical& n, const predicate& p) {
    switch (n.what) {
      case verb::order_by:
      case verb::reverse:
      case verb::concat: return true;
      case verb::distinct:
      case verb::union_with:
      case verb::intersect:
      case verb::except: {
        if (n.keys.equal || !same_for_equal_keys(p.tree.root)) return false;
        const ir::traced& key = r_.trace(n.functions.front());
        return key && (is_whole_row(key) || reads_only_key(p.tree.root, key.root));
      }
      default: return false;
    }
  }

  placed through_probe(branch& b, vertex* reader, std::size_t i, const predicate& p) {
    const logical& join = *b.stages[i].join;
    vertex* build = b.stages[i].build;
    const bool build_left = b.stages[i].build_left;
    return through_join(join, p, [&](bool right, const predicate& q) {
      if (right == build_left) {
        const std::size_t before = b.stages.size();
        const placed done = settle(b, reader, i, q, true);
        i += b.stages.size() - before;
        return done;
      }
      if (build->node) return through_table(*build, q);
      return edges_.only_reader(*build).how == edge::kind::build ? settle_last(*build, 0, q) : placed::nowhere;
    });
  }

  // Gives `side` the conditions that read one side of the join only, where losing rows of that side loses just their results.
  template <class Side> placed through_join(const logical& join, const predicate& p, Side side) {
    return passing(join, [&](auto add) {
      if (join.join == join_kind::semi || join.join == join_kind::anti) return add(side(false, p));
      for (const ir::node* part : ir::conjuncts(p.tree.root)) {
        const auto q = condition_of_side(join, p, part);
        add(q ? side(q->second, q->first) : placed::nowhere);
      }
    });
  }
  // The condition over the rows of one side, and whether that is the right one.
  std::optional<std::pair<predicate, bool>> condition_of_side(const logical& join, const predicate& p, const ir::node* part) {
    const ir::traced& result = r_.trace(join.functions.back());
    auto q = result ? rewritten(p, part, result) : std::nullopt;
    if (!q) return std::nullopt;
    const auto rows = ir::rows_used(q->tree.root);
    if (rows.size() != 1) return std::nullopt;
    const bool right = rows.contains(1), all = join.what == verb::cross_join || join.join == join_kind::inner;
    if (!all && join.join != (right ? join_kind::right : join_kind::left)) return std::nullopt;
    if (right) q->tree.root = ir::renumber_row(*q->tree.owner, q->tree.root, 1, 0);
    return std::pair(*q, right);
  }

  // A test goes past so many stages and tables and no further, and all together take no more time than so many for each verb.
  static constexpr std::size_t most_steps = 64;

  rewriting& r_;
  const edge_index edges_;
  std::size_t steps_ = 0, steps_left_ = 0;
  std::vector<std::string> passed_;  // verbs that the predicate in hand went below
};

}  // namespace

void predicate_pushdown(rewriting& r) {
  // From the result down, so that a test passes as many verbs as it can at once.
  pushing p(r);
  p.from_wheres_of(r.graph.result, nullptr);
  for (std::size_t i = r.graph.vertices.size(); i-- > 0;)
    for (branch& b : r.graph.vertices[i]->inputs) p.from_wheres_of(b, r.graph.vertices[i].get());
}

}  // namespace query::planner::rules
