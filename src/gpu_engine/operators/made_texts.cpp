#include "gpu_engine/operators/made_texts.hpp"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include <query/detail/binding.hpp>
#include <query/errors.hpp>

#include "gpu_engine/codegen/expressions.hpp"
#include "gpu_engine/host_unpacking.hpp"
#include "ir/analysis.hpp"
#include "ir/visit.hpp"

namespace query::gpu_engine {

using detail::logical;
using detail::verb;
using ir::node;
using ir::op;

namespace {

// Records that only the device knows.
class made_types {
 public:
  const ir::type* record(const std::vector<const ir::type*>& parts) {
    ir::type t;
    t.k = ir::kind::record;  // not trivial: nobody takes its bytes for those of a row of the host's
    t.name = "values";
    const auto rounded = [](std::size_t n, std::size_t to) { return (n + to - 1) / to * to; };
    for (const ir::type* p : parts) {
      t.size = rounded(t.size, p->align);
      t.align = std::max(t.align, p->align);
      t.field_list.push_back({"value", p, t.size});
      t.size += p->size;
    }
    t.size = std::max<std::size_t>(rounded(t.size, t.align), 1);
    t.life.construct = [](void*, std::size_t) { throw internal_error("gpu: rows that only the device knows came to the host"); };
    t.life.destroy = [](void*, std::size_t) {};
    return &all_.emplace_back(std::move(t));
  }

 private:
  std::deque<ir::type> all_;  // their addresses stay
};

// An expression as a function of the user's.
struct held_trace {
  ir::traced trace;
  std::vector<std::shared_ptr<ir::arena>> arenas;  // of its parts
  std::shared_ptr<made_types> types;
};

bool is_text_value(const node* n) {
  return n->type && n->type->k == ir::kind::string &&
         (n->what == op::add || (n->what == op::call && (n->text == "to_lower" || n->text == "to_upper")));
}

// Below aggregates too, or what is computed of their results alone.
bool makes(const node* root, bool below_aggregates) {
  std::vector<const node*> stack = {root};
  std::unordered_set<const node*> seen;
  while (!stack.empty()) {
    const node* n = stack.back();
    stack.pop_back();
    if (!seen.insert(n).second || (n->what == op::aggregate && !below_aggregates)) continue;
    if (is_text_value(n)) return true;
    stack.insert(stack.end(), n->kids.begin(), n->kids.end());
  }
  return false;
}

// `root` with other nodes in the place of some.
const node* with_others(ir::arena& a, const node* root, const std::unordered_map<const node*, const node*>& others) {
  std::unordered_map<const node*, const node*> made;
  ir::each_node(root, [&](const node* n) {
    if (const auto other = others.find(n); other != others.end()) {
      made[n] = other->second;
      return;
    }
    node copy = *n;
    for (const node*& k : copy.kids) k = made.at(k);
    made[n] = copy.kids == n->kids ? n : a.put(std::move(copy));
  });
  return made.at(root);
}

bool has_inputs_of(verb what, std::size_t n) {
  switch (what) {
    case verb::group_by:
    case verb::aggregate:
    case verb::order_by:
    case verb::distinct:
      return n == 1;
    case verb::union_with:
    case verb::intersect:
    case verb::except:
    case verb::join:
    case verb::group_join:
    case verb::cross_join:
      return n == 2;
    default:
      return false;
  }
}

}  // namespace

// Traces the functions, and takes them apart.
class made_texts::writer {
 public:
  explicit writer(const logical& n) : n_(n), sides_(has_inputs_of(n.what, 2) ? 2 : 1) {
    for (const detail::user_function& f : n.functions) traces_.push_back(trace(f));
  }

  std::unique_ptr<const made_texts> write() {
    const bool groups = n_.what == verb::group_by || n_.what == verb::aggregate;
    std::vector<std::vector<const node*>> wanted(sides_);  // values by side
    for (std::size_t i = 0; i < n_.functions.size(); ++i) {
      if (!traces_[i].trace.root) return nullptr;
      const node* root = traces_[i].trace.root;
      if (groups && i + 1 == n_.functions.size()) arguments(root, wanted[0]);
      else if (is_key(i) && makes(root, true))
        for (std::size_t side = 0; side < sides_; ++side)
          if (sets() || side == (sides_ == 2 ? i : 0)) want(root, wanted[side]);
    }
    const bool results = makes_results();
    if (!results && std::all_of(wanted.begin(), wanted.end(), [](const auto& w) { return w.empty(); })) return nullptr;

    auto made = std::make_unique<made_texts>();
    auto over = std::make_shared<logical>(n_);
    over->aggregate.record = [](const void*) -> std::shared_ptr<const void> {
      throw internal_error("gpu: the native aggregates of an expression were asked for");
    };
    for (std::size_t side = 0; side < sides_; ++side) side_of(*made, *over, side, wanted[side]);
    if (results) results_behind(*made, *over);
    made->verb_ = std::move(over);
    return made;
  }

 private:
  struct traced_function {
    ir::traced trace;
    std::vector<std::shared_ptr<const detail::capture>> captures;
  };

  traced_function trace(const detail::user_function& f) {
    const detail::capture_recorder recorder;
    traced_function t{f.on_device ? f.on_device(*f.device) : f.trace(), f.captures};
    t.captures.insert(t.captures.end(), recorder.found().begin(), recorder.found().end());
    if (t.trace.owner) arenas_.push_back(t.trace.owner);
    return t;
  }

  bool sets() const { return n_.what == verb::union_with || n_.what == verb::intersect || n_.what == verb::except; }
  bool is_key(std::size_t function) const {
    if (n_.what == verb::cross_join) return false;
    if (n_.what == verb::join || n_.what == verb::group_join) return function < 2;
    return n_.what == verb::order_by || function == 0;
  }
  static void want(const node* value, std::vector<const node*>& values) {
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  // Those of the aggregates of one expression; those of the user's own have states that grow.
  static void arguments(const node* root, std::vector<const node*>& values) {
    ir::each_node(root, [&](const node* n) {
      if (n->what != op::aggregate || n->kids.empty() || n->text == "aggregate") return;
      if (n->text == "first" && any_may_fail(n->kids[0])) return;  // wanted of one row of each group: others must not fail
      if (makes(n->kids[0], true)) want(n->kids[0], values);
    });
  }

  // The function whose result is a row of the verb's, and which makes strings; functions of lists of matches may make theirs themselves.
  bool makes_results() const {
    if (n_.what == verb::group_by || n_.what == verb::aggregate) return makes(traces_.back().trace.root, false);
    const std::size_t result = n_.what == verb::join ? 2 : n_.what == verb::cross_join ? 0 : n_.functions.size();
    return result < n_.functions.size() && makes(traces_[result].trace.root, true);
  }

  detail::user_function function(std::string_view role, const node* root, const ir::type* row, const ir::type* result) {
    auto held = std::make_shared<held_trace>();
    held->trace.owner = arena_;
    held->trace.root = root;
    held->arenas = arenas_;
    held->types = types_;
    detail::user_function f;
    f.held = true;
    f.role = role;
    f.f = std::move(held);
    f.retrace = [](const void* self) { return static_cast<const held_trace*>(self)->trace; };
    f.native.map = [](const void*, const void*, const std::uint32_t*, std::size_t, void*) {
      throw internal_error("gpu: an expression was called that has no native form");
    };
    f.row = row;
    f.result = result;
    for (const traced_function& t : traces_) f.captures.insert(f.captures.end(), t.captures.begin(), t.captures.end());
    return f;
  }
  std::shared_ptr<logical> rows_of(const ir::type* row) const {
    auto rows = std::make_shared<logical>();
    rows->label = n_.label;
    rows->row = row;
    rows->where = n_.where;
    return rows;
  }
  // Errors in it are those of the verb.
  std::shared_ptr<const logical> select(const node* root, const ir::type* from, const ir::type* to) {
    auto maker = rows_of(to);
    maker->what = verb::select;
    maker->fast_math = n_.fast_math;
    maker->functions.push_back(function("projection", root, from, to));
    return maker;
  }

  // The values of one input as a column behind its rows: parts of them are found at the same bytes as before.
  void side_of(made_texts& made, logical& over, std::size_t side, const std::vector<const node*>& wanted) {
    const ir::type* row = row_of(side);
    made.values_.push_back({rows_of(row), nullptr, 0});
    if (wanted.empty()) {
      made.rows_.push_back(made.values_.back().rows);
      return;
    }
    std::vector<const ir::type*> parts;
    for (const node* v : wanted) parts.push_back(v->type);
    const ir::type* column = types_->record(parts);
    const ir::type* with = types_->record({row, column});
    made.rows_.push_back(rows_of(with));
    values& v = made.values_.back();
    v.offset = with->field_list[1].offset;
    v.maker = select(arena_->put(node{op::make, 0, column, 0, wanted, {}, 0}), row, column);
    std::unordered_map<const node*, const node*> reads;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      reads[wanted[i]] = arena_->put(op::field, parts[i], {}, v.offset + column->field_list[i].offset, 0, "value");
    for (std::size_t i = 0; i < over.functions.size(); ++i) {
      const node* root = traces_[i].trace.root;
      const bool groups = (n_.what == verb::group_by || n_.what == verb::aggregate) && i + 1 == over.functions.size();
      const bool key = is_key(i) && (sides_ == 1 || sets() || i == side);
      if (!groups && !key) continue;
      const node* now = groups ? over_arguments(root, reads) : reads.contains(root) ? reads.at(root) : root;
      over.functions.replace(i, function(n_.functions[i].role, now, with, n_.functions[i].result));
      if (groups) group_function_ = now;
    }
  }
  const node* over_arguments(const node* root, const std::unordered_map<const node*, const node*>& reads) {
    std::unordered_map<const node*, const node*> others;
    ir::each_node(root, [&](const node* n) {
      if (n->what != op::aggregate || n->kids.empty() || n->text == "aggregate" || !reads.contains(n->kids[0])) return;
      node copy = *n;
      copy.kids[0] = reads.at(n->kids[0]);
      others[n] = arena_->put(std::move(copy));
    });
    return with_others(*arena_, root, others);
  }
  const ir::type* row_of(std::size_t side) const {
    if (n_.what == verb::cross_join || n_.what == verb::aggregate) return n_.inputs.at(side).node->row;
    return n_.functions[n_.what == verb::join || n_.what == verb::group_join ? side : 0].row;
  }

  void results_behind(made_texts& made, logical& over) {
    const bool groups = n_.what == verb::group_by || n_.what == verb::aggregate;
    const std::size_t result = groups ? over.functions.size() - 1 : n_.what == verb::join ? 2 : 0;
    const node* root = groups && group_function_ ? group_function_ : traces_[result].trace.root;
    std::vector<const node*> parts = groups ? parts_of_groups(root) : parts_of_pairs(root);
    std::vector<const ir::type*> types;
    for (const node* p : parts) types.push_back(p->type);
    const ir::type* row = types_->record(types);
    std::vector<const node*> reads;
    for (std::size_t i = 0; i < parts.size(); ++i)
      reads.push_back(arena_->put(op::field, types[i], {}, row->field_list[i].offset, 0, "value"));
    const node* behind = nullptr;
    if (groups) {
      std::unordered_map<const node*, const node*> others;
      for (std::size_t i = 0; i < parts.size(); ++i) others[parts[i]] = reads[i];
      behind = with_others(*arena_, root, others);
    } else {
      std::vector<const node*> of_rows(2, nullptr);
      for (std::size_t i = 0; i < parts.size(); ++i) of_rows[parts[i]->id] = reads[i];
      behind = ir::substitute(*arena_, root, of_rows);
    }
    if (!behind) throw not_generated("the result of " + n_.label + " is not made of whole rows");
    made.maker_ = select(behind, row, n_.row);
    const node* given = arena_->put(node{op::make, 0, row, 0, parts, {}, 0});
    over.functions.replace(result, function(n_.functions[result].role, given, n_.functions[result].row, row));
    over.row = row;
  }
  // The key and the aggregates.
  static std::vector<const node*> parts_of_groups(const node* root) {
    std::vector<const node*> parts;
    ir::each_node(root, [&](const node* n) {
      if (n->what == op::key || n->what == op::aggregate) parts.push_back(n);
    });
    return parts;
  }
  // The rows of a pair that the result reads; the row of a side that may be missing is an optional one.
  std::vector<const node*> parts_of_pairs(const node* root) {
    std::vector<const node*> parts;
    for (const std::uint32_t id : ir::rows_used(root)) {
      const ir::type* seen = row_of(id);
      ir::each_node(root, [&](const node* n) {
        if (n->what == op::row && n->id == id) seen = n->type;
      });
      parts.push_back(arena_->put(op::row, seen, {}, 0, id));
    }
    return parts;
  }

  const logical& n_;
  const std::size_t sides_;
  std::vector<std::shared_ptr<ir::arena>> arenas_;
  std::vector<traced_function> traces_;
  std::shared_ptr<ir::arena> arena_ = std::make_shared<ir::arena>();
  std::shared_ptr<made_types> types_ = std::make_shared<made_types>();
  const node* group_function_ = nullptr;
};

std::unique_ptr<const made_texts> made_texts::of(const logical& n) {
  if (!has_inputs_of(n.what, 1) && !has_inputs_of(n.what, 2)) return nullptr;
  if (n.has_own_equality() || n.has_own_order() || n.functions.empty()) return nullptr;
  try {
    return writer(n).write();
  } catch (const untraceable&) {  // more nodes than expressions may have
    return nullptr;
  } catch (const not_generated&) {
    return nullptr;
  }
}

planner::branch made_texts::made_by(const logical& rows, const logical& maker) {
  planner::branch b;
  b.source = &rows;
  planner::stage s;
  s.nodes = {&maker};
  s.in = rows.row;
  s.out = maker.row;
  b.stages.push_back(std::move(s));
  b.row = maker.row;
  return b;
}

void made_texts::plan_values(std::size_t side) const {
  const values& v = values_.at(side);
  if (v.maker) plan_collect_before(made_by(*v.rows, *v.maker));
}

std::shared_ptr<const device_rows> made_texts::with_values(std::size_t side, std::shared_ptr<const device_rows> rows,
                                                           vertex_run& run) const {
  const values& v = values_.at(side);
  if (!v.maker) return rows;
  run.reset_status();
  run.supply(rows);  // whose strings and lists the values may view
  const result_rows made = run_collect_of(made_by(*v.rows, *v.maker), rows, run);
  run.supply(nullptr);
  run.reset_status();
  auto with = std::make_shared<device_rows>(run.shared_gpu(), rows->layout().row, rows->size());
  for (std::size_t c = 0; c < rows->layout().columns.size(); ++c) with->add(rows->layout().columns[c], rows->column(c));
  with->add({v.offset, v.maker->row}, made->column(0));
  for (const auto& heap : rows->heaps()) with->keep_heap(heap);
  for (const auto& heap : made->heaps()) with->keep_heap(heap);
  with->keep(std::move(rows));
  with->keep(made);
  with->keep(v.maker);  // whose type the column has
  return with;
}

planner::branch made_texts::input(std::size_t side) const {
  planner::branch b;
  b.source = rows_.at(side).get();
  b.row = b.source->row;
  return b;
}

void made_texts::plan_results() const {
  if (!maker_) return;
  check_host_form(maker_->row);
  plan_collect_before(made_by(*verb_, *maker_));
}

result_rows made_texts::results(result_rows rows, vertex_run& run) const {
  if (!maker_) return rows;
  run.reset_status();
  run.supply(rows);  // whose strings and lists the results may view
  result_rows made = run_collect_of(made_by(*verb_, *maker_), rows, run);
  run.supply(nullptr);
  run.reset_status();
  return made;
}

namespace {

planner::vertex over_values(const planner::vertex& v, const made_texts& texts) {
  planner::vertex w = v;
  w.node = &texts.verb();
  for (std::size_t side = 0; side < w.inputs.size(); ++side) w.inputs[side] = texts.input(side);
  return w;
}

}  // namespace

void plan_with_texts(const planner::vertex& v, const made_texts& texts) {
  for (std::size_t side = 0; side < v.inputs.size(); ++side) {
    plan_input(v.inputs[side]);
    texts.plan_values(side);
  }
  const planner::vertex w = over_values(v, texts);
  switch (v.node->what) {
    case verb::order_by:
      plan_order_by(w);
      break;
    case verb::join:
      plan_outer_join(w);
      break;
    case verb::group_join:
      plan_group_join(w);
      break;
    case verb::cross_join:
      plan_cross_join(w);
      break;
    case verb::group_by:
    case verb::aggregate:
      plan_group_by(w);
      break;
    default:
      plan_sets(w);
  }
  texts.plan_results();
}

result_rows run_with_texts(const planner::vertex& v, const made_texts& texts, vertex_run& run) {
  std::vector<std::shared_ptr<const device_rows>> rows;
  for (std::size_t side = 0; side < v.inputs.size(); ++side) {
    rows.push_back(texts.with_values(side, run_input(v.inputs[side], all_fields(v.inputs[side].row), run), run));
    run.supply(rows.back());
    run.supply(nullptr);
    run.reset_status();
  }
  if (v.node->what == verb::aggregate && rows[0]->size() == 0) return aggregate_of_nothing(v, run);
  const planner::vertex w = over_values(v, texts);
  const auto given = [&]() -> result_rows {
    switch (v.node->what) {
      case verb::group_by:
      case verb::aggregate:
        run.supply(rows[0]);
        return run_group_by(w, run);
      case verb::order_by:
        run.supply(rows[0]);
        return run_order_by(w, run);
      case verb::join:
        return run_outer_join_of(w, *rows[0], rows[1], run);
      case verb::group_join:
        return run_group_join_of(w, *rows[0], rows[1], false, run);  // w ends with this run
      case verb::cross_join:
        return run_cross_join_of(w, *rows[0], *rows[1], run);
      default:
        return run_set_of(w, v.node->what, *rows[0], rows.size() > 1 ? rows[1].get() : nullptr, run);
    }
  };
  result_rows result = given();
  run.supply(nullptr);
  return texts.results(std::move(result), run);
}

}  // namespace query::gpu_engine
