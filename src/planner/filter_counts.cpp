#include "planner/filter_counts.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>

#include <query/detail/failure.hpp>
#include <query/detail/query_state.hpp>
#include <query/detail/tracer.hpp>

#include "ir/analysis.hpp"
#include "planner/expression_function.hpp"
#include "planner/interpretation.hpp"
#include "planner/prefix_segment.hpp"

namespace query::planner {

using detail::call_site;
using detail::logical;
using detail::pipe;
using detail::verb;

namespace {

constexpr const char* verb_name = "report";

// Rows, and how many of some filters each of them passes: an expression that grows verb by verb.
class passed_filters {
 public:
  explicit passed_filters(pipe rows) : rows_(std::move(rows)), arena_(std::make_shared<ir::arena>()) {}

  std::size_t filters() const { return tests_.size(); }
  // Adds a filter or a projection. False: this one cannot be a part of the expression.
  bool add(const logical& n) {
    if ((n.what != verb::where && n.what != verb::select) || tests_.size() == most) return false;
    const detail::user_function& f = n.functions.front();
    if (takes_row_number(f)) return false;
    const interpretation i = interpret(f);
    if (!i || !i.captures.empty() || ir::has_capture(i.expression.root)) return false;
    // Such computations number the elements that they are about, and two functions may take the same numbers.
    if (ir::contains(i.expression.root, ir::op::nested) || ir::contains(i.expression.root, ir::op::loop)) return false;
    if (!has_room(*i.expression.owner)) return false;
    try {
      const ir::node* made = ir::substitute(*arena_, i.expression.root, std::span<const ir::node* const>(&row_, 1));
      if (!made) return false;
      if (n.what == verb::select) row_ = made;
      else tests_.push_back(made);
      return true;
    } catch (const untraceable&) {  // too long
      return false;
    }
  }
  // The query: as many rows as there are numbers of filters that rows pass.
  detail::part_of_run query(const detail::settings& s, call_site at) const {
    const ir::type* const number = ir::describe<std::int32_t>();
    const auto literal = [&](std::size_t n) { return arena_->put(ir::op::literal, number, {}, n); };
    const ir::node* passed = literal(tests_.size());
    for (std::size_t i = tests_.size(); i-- > 0;) passed = ir::make_select(*arena_, tests_[i], passed, literal(i));
    const auto groups = std::make_shared<ir::arena>();
    const ir::node* const key = groups->put(ir::op::key, number);
    const ir::node* const count = groups->put(ir::op::aggregate, ir::describe<std::int64_t>(), {}, 0, 0, "count");
    const ir::type* const out = ir::describe<filter_counts::row>();
    const ir::node* const made = groups->put(ir::op::make, out, {key, count});

    const ir::type* const row = rows_.native ? rows_.native->out : rows_.node->row;
    auto n = detail::group_node(verb_name, out, at, rows_, {}, number, {});
    n->functions.push_back(function_of("key", {arena_, passed, {}, 0}, row, number));
    n->functions.push_back(function_of_groups({groups, made, {}, 0}, out));
    const detail::query_state state = detail::finished(std::move(n), {&s});
    return {state.origin, state.how};
  }

 private:
  static constexpr std::size_t most = 64;
  // The expression must not outgrow what tracers and planners take: leaves may become paths, and query() has yet to add two nodes a filter.
  bool has_room(const ir::arena& more) const { return arena_->size() + 4 * more.size() + 2 * most < ir::limits().nodes; }

  pipe rows_;
  std::shared_ptr<ir::arena> arena_;
  const ir::node* row_ = nullptr;  // as the last projection makes it; null: as it came
  std::vector<const ir::node*> tests_;
};

// The name of a filter; empty: it has none. `next`: the verb after it in its loop, null if there is none.
const std::string& name_of_filter(const logical& n, const logical* next) {
  static const std::string none;
  if (n.what != verb::where) return none;
  // values() and of_type() are two verbs, the second of which is named.
  const bool first_of_two = n.label != "where" && next && next->what == verb::select && next->label == n.label &&
                            next->where.line == n.where.line;
  return first_of_two ? next->name : n.name;
}

class counter {
 public:
  counter(const detail::settings& s, call_site at) : settings_(s), at_(at), fuses_(!s || !s->verify) {}

  filter_counts count(const pipe& end) {
    open_.push_back(way_to(end, ""));
    while (!open_.empty()) {
      if (open_.back().pipes.empty()) {
        open_.pop_back();
        continue;
      }
      const pipe& p = *open_.back().pipes.back();
      open_.back().pipes.pop_back();
      if (p.native) count_loop(open_.back(), p);
      else begin_with(open_.back(), p);
    }
    if (filters_.empty())
      detail::fail(verb_name, "no filter of the query has a name; write where(f).named(\"price\") for each that shall be counted", at_);
    return finish();
  }

 private:
  // Rows from where they come from to where they go. `pipes`: those that are yet to be looked at, the next one at the end.
  struct way {
    std::string input;
    std::vector<const pipe*> pipes;
    std::size_t part = 0;                   // that counts the rows where the way has come to
    std::optional<std::size_t> first = {};  // of its filters
  };
  // Rows to be counted. unreachable: they cannot be had apart from the verbs after this one.
  struct part {
    passed_filters rows;
    const logical* unreachable = nullptr;
    bool needed = false;
  };

  way way_to(const pipe& end, std::string input) {
    way w;
    w.input = std::move(input);
    const pipe* p = &end;
    while (true) {
      w.pipes.push_back(p);
      if (p->native) p = &p->native->origin;
      else if (p->node->inputs.empty() || !seen_.insert(p->node.get()).second) return w;
      else p = &p->node->inputs.front();
    }
  }
  std::size_t add_part(pipe rows, const logical* unreachable = nullptr) {
    parts_.push_back({passed_filters(std::move(rows)), unreachable});
    return parts_.size() - 1;
  }

  // The rows of a source, or of a verb that is not row-wise. The filters of its other inputs are counted first.
  void begin_with(way& w, const pipe& p) {
    w.part = add_part(p);
    const logical& n = *p.node;
    if (n.what == verb::do_while || !counted_.insert(&n).second) return;  // what a loop's rounds filter belongs to the loop
    const std::string outer = w.input.empty() ? "" : " in " + w.input;
    std::vector<way> others;
    for (std::size_t i = 1; i < n.inputs.size(); ++i)
      others.push_back(way_to(n.inputs[i], "input " + std::to_string(i + 1) + " of " + n.label + outer));
    // The last one is the next to be looked at.
    open_.insert(open_.end(), std::make_move_iterator(others.rbegin()), std::make_move_iterator(others.rend()));
  }

  void count_loop(way& w, const pipe& p) {
    const std::vector<const logical*> verbs = verbs_of(p);
    const logical* unreachable = nullptr;
    for (std::size_t i = 0; i < verbs.size(); ++i) {
      const logical& n = *verbs[i];
      const bool last = i + 1 == verbs.size();
      const std::string& name = name_of_filter(n, last ? nullptr : verbs[i + 1]);
      const counted_rows in = rows_here(w);
      if (!runs_alone(n)) unreachable = &n;
      if (!fuses_ || !parts_[w.part].rows.add(n)) {
        if (last) w.part = add_part(p);
        else if (unreachable) w.part = add_part({}, unreachable);
        else w.part = add_part(prefix_of(p, n));
      }
      if (!name.empty() && counted_.insert(&n).second) add_filter(w, name, in);
    }
  }
  static std::vector<const logical*> verbs_of(const pipe& p) {
    std::vector<const logical*> verbs;
    for (const logical* n = p.node.get(); n != p.native->origin.node.get() && detail::row_wise(n->what); n = n->inputs.front().node.get())
      verbs.push_back(n);
    std::reverse(verbs.begin(), verbs.end());
    return verbs;
  }
  counted_rows rows_here(const way& w) const { return {w.part, parts_[w.part].rows.filters()}; }
  void add_filter(way& w, const std::string& name, counted_rows in) {
    const counted_rows passed = rows_here(w);
    for (const counted_rows& r : {in, passed}) {
      part& p = parts_[r.part];
      p.needed = true;
      if (p.unreachable)
        detail::fail(verb_name, "the rows of the filter \"" + name + "\" cannot be counted: it is compiled together with the function of "
                                "row numbers before it; write as_query() after that function", p.unreachable->where);
    }
    if (!w.first) w.first = filters_.size();
    filters_.push_back({name, w.input, in, passed, *w.first});
  }

  filter_counts finish() {
    filter_counts all;
    std::vector<std::size_t> number(parts_.size());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!parts_[i].needed) continue;
      number[i] = all.parts.size();
      all.parts.push_back(parts_[i].rows.query(settings_, at_));
    }
    all.filters = std::move(filters_);
    for (counted_filter& f : all.filters) {
      f.in.part = number[f.in.part];
      f.passed.part = number[f.passed.part];
    }
    return all;
  }

  detail::settings settings_;
  call_site at_;
  bool fuses_;  // verify() compares the functions themselves
  std::vector<way> open_;
  std::vector<part> parts_;
  std::vector<counted_filter> filters_;
  std::unordered_set<const logical*> seen_;     // on some way
  std::unordered_set<const logical*> counted_;  // filters that are listed, and verbs whose other inputs are
};

}  // namespace

filter_counts count_filters(const pipe& rows, const detail::settings& s, call_site at) { return counter(s, at).count(rows); }

}  // namespace query::planner
