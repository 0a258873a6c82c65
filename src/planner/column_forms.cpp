#include "planner/column_forms.hpp"

#include <algorithm>

#include "data/arrow_table.hpp"
#include "ir/device_function.hpp"
#include "planner/column_fold.hpp"
#include "planner/expression_function.hpp"
#include "planner/rules/edges.hpp"

namespace query::planner {

using detail::join_kind;
using detail::verb;

column_schema source_schema(const branch& b) {
  if (b.by_field) return column_schema::of_fields(b.source->row, {});
  if (b.source && b.source->what == verb::source_columns) return column_schema::of_fields(b.source->row, b.wanted);
  if (b.table && b.table->gives_columns) return b.table->gives_columns->schema();
  return column_schema::of_rows(b.table ? b.table->row() : b.source->row);
}

// The rows of a columnar source as they are: a stage without a verb.
static bool makes_records(const stage& s) { return s.what == stage::kind::rowwise && s.nodes.empty(); }

bool is_bare_source(const vertex& v) {
  return !v.node && !v.moves && v.inputs.size() == 1 && v.limit == ~0ull && v.engine == "cpu" && is_bare_source(v.inputs.front());
}
bool is_bare_source(const branch& b) {
  return b.source && b.source->view && b.prefilters.empty() && std::all_of(b.stages.begin(), b.stages.end(), makes_records);
}

namespace {

bool of_columns(const branch& b) { return b.source && b.source->what == verb::source_columns; }
bool is_columnar(const branch& b) { return of_columns(b) || (b.table && b.table->gives_columns); }

// Rows that are there, in memory or as columns of a vertex: streams begin with records.
bool reads_memory(const branch& b) { return b.table || (b.source && (b.source->view || b.source->what == verb::placeholder)); }

bool can_be_stored(const ir::type* t) { return t->trivial || (t->life.copy_assign && t->life.construct); }

// Tuples of numbers do not, though the library does not take them for trivial.
bool owns_memory(const ir::type* t) {
  if (t->trivial || t->k != ir::kind::record) return !t->trivial;
  return std::any_of(t->field_list.begin(), t->field_list.end(), [](const ir::field& f) { return owns_memory(f.of); });
}

// The columns of a source that may come as codes of dictionaries; empty: none.
std::vector<bool> fields_of_codes(const logical& source, const column_schema& schema) {
  const data::arrow_table* const table = data::arrow_table::of(source);
  if (!table) return {};
  std::vector<bool> coded;
  std::size_t field = 0;
  for (const column_schema::column& c : schema.columns) {
    while (source.row->field_list[field].offset != c.offset || source.row->field_list[field].of != c.type) ++field;
    coded.push_back(table->has_dictionary(field));
  }
  return coded;
}

// What running the first stages of a branch over columns would be.
class walk {
 public:
  explicit walk(const branch& b)
      : branch_(&b), of_source_(source_schema(b)), now_(of_source_), costly_(is_columnar(b) || b.by_field || !row_of(b)->trivial) {
    if (b.source && !b.table) coded_ = fields_of_codes(*b.source, of_source_);
  }

  bool prefilters() const {
    return std::all_of(branch_->prefilters.begin(), branch_->prefilters.end(), [&](const prefilter& f) {
      return f.expression ? readable(f.expression.root, of_source_) : evaluate(*f.function, of_source_).has_value();
    });
  }
  // The number of stages, from the first on, that can.
  std::size_t stages() {
    if (!prefilters()) return 0;
    const ir::type* row = row_of(*branch_);
    std::size_t n = 0;
    for (const stage& s : branch_->stages) {
      if (n == most_stages || !can_be_stored(row) || !(s.what == stage::kind::probe ? probe(s) : rowwise(s, row))) break;
      row = s.out;
      ++n;
    }
    return n;
  }
  bool pays() const { return pays_; }      // of those stages
  bool costly() const { return costly_; }  // records of the rows behind them
  const column_schema& schema() const { return now_; }
  // They come out as they lie in memory, all or some.
  bool records_in_place() const { return !is_columnar(*branch_) && now_.columns.size() == 1 && now_.columns[0].type == row_of(*branch_); }

  // A join whose probe side these rows are. build: the other side, if it is a source that is read where it lies.
  bool join(const logical& join, bool left_built, const branch* build, const ir::type* build_row) {
    if (join.has_own_equality() || join.inputs.empty()) return false;
    column_schema built = build ? source_schema(*build) : column_schema::of_rows(build_row);
    const auto key = evaluate(join.functions[left_built ? 1 : 0], now_);
    if (!key || !evaluate(join.functions[left_built ? 0 : 1], built)) return false;
    const auto part = part_of_column(key->expression.root, now_);
    const bool by_code = part && !coded_.empty() && coded_[part->column];  // entries are looked up, not rows
    if (join.join == join_kind::semi || join.join == join_kind::anti) {
      pays_ = pays_ || (by_code && !left_built);
      return !left_built;
    }
    if (join.join != join_kind::inner && left_built) return false;
    column_schema probed = now_;
    if (join.join == join_kind::left || join.join == join_kind::full) built = built.of_optional(build_row);
    if (join.join == join_kind::right || join.join == join_kind::full) probed = probed.of_optional(join.functions[0].row);
    const auto p = left_built ? project(join.functions[2], built, &probed) : project(join.functions[2], probed, &built);
    if (!p || !can_be_stored(join.row)) return false;
    const bool costly = costly_ || !build_row->trivial || (build && is_columnar(*build));
    pays_ = pays_ || by_code || (costly && p->renames());
    coded_.clear();
    costly_ = costly;
    now_ = p->schema();
    return true;
  }

  // How many verbs of a stage, from the first on, can: a test narrows the rows, a projection gives others.
  std::size_t nodes(const stage& s, const ir::type* row) {
    for (std::size_t i = 0; i < s.nodes.size(); ++i) {
      const logical& n = *s.nodes[i];
      const detail::user_function& f = n.functions.front();
      if (f.row != row) return i;
      if (n.what == verb::where && f.native.filter) {
        if (!evaluate(f, now_)) return i;
      } else if (n.what == verb::select && f.native.map) {
        const auto p = project(f, now_);
        if (!p || !can_be_stored(n.row)) return i;
        now_ = p->schema();
        coded_.clear();
      } else {
        return i;
      }
      row = n.row;
    }
    return s.nodes.size();
  }

 private:
  // They call each other; those behind them take records, and wait in groups of their own.
  static constexpr std::size_t most_stages = 32;

  static const ir::type* row_of(const branch& b) { return b.table ? b.table->row() : b.source->row; }

  bool rowwise(const stage& s, const ir::type* row) { return nodes(s, row) == s.nodes.size(); }

  bool probe(const stage& s) {
    return join(*s.join, s.build_left, is_bare_source(*s.build) ? &s.build->inputs.front() : nullptr, s.build->row());
  }

  const branch* branch_;
  column_schema of_source_, now_;
  std::vector<bool> coded_;  // columns of now_ that may come as codes; empty: none
  bool costly_;        // records of these rows would be put together out of columns, or copied with what they own
  bool pays_ = false;  // a join gives columns of both sides, which records would copy
};

// Aggregates that keep a value of a row; arg_min, arg_max and the user's own take rows as a whole.
bool takes_a_value(ir::aggregate_kind k) {
  return k != ir::aggregate_kind::arg_min && k != ir::aggregate_kind::arg_max && k != ir::aggregate_kind::custom;
}

// The function of a group_by or aggregate as aggregates of columns; null: it is not.
std::shared_ptr<const ir::group_plan> group_plan_of(const vertex& v, const column_schema& rows) {
  const logical& n = *v.node;
  if (n.has_own_equality()) return nullptr;
  const detail::user_function& f = n.functions.back();
  const ir::traced t = f.trace();
  if (!t || ir::calls_device_function(t.root)) return nullptr;
  ir::group_analysis a = ir::plan_group_function(t, n.key, n.row);
  if (!a.plan) return nullptr;
  for (const ir::aggregate_call& c : a.plan->calls)
    if (!takes_a_value(c.what) || (c.argument && !readable(c.argument, rows))) return nullptr;
  return std::make_shared<const ir::group_plan>(std::move(*a.plan));
}

// A compiled function that keeps a state of the user's own reads fields where they lie; integer divisions that would trap are left to
// those who look for them in records.
bool reads_fields(const vertex& v) {
  const logical& n = *v.node;
  return n.aggregate.update_fields && !v.group_function && !n.has_own_equality() && !may_trap(n.functions.back().trace());
}

// Groups of records that are larger than a cache line. Rows that are partitioned carry the fields that somebody reads; otherwise each
// partition would bring whole records from memory once more, a few from each page.
bool groups_large_records(const vertex* reader, const branch& b) {
  constexpr std::size_t cache_line = 64;
  if (!reader || !reader->node || reader->node->what != verb::group_by || !b.source || of_columns(b)) return false;
  const ir::type& row = *b.source->row;
  return row.k == ir::kind::record && row.size > cache_line;
}

// Sums of long arrays that are computed: their elements would be as many columns, filled and read across all rows of a batch. Compiled
// functions go from element to element of one row. Arrays of the rows are read where they lie either way.
bool aggregates_computed_arrays(const ir::group_plan& plan, const column_schema& rows) {
  constexpr std::size_t few = 8;
  return std::any_of(plan.calls.begin(), plan.calls.end(), [&](const ir::aggregate_call& c) {
    return c.value && c.value->k == ir::kind::array && c.value->count > few && c.argument && !part_of_column(c.argument, rows);
  });
}

// A group_by or aggregate whose rows come as columns all the way.
bool group_over_columns(vertex* reader, const walk& w, bool to_columns) {
  if (!reader || !reader->node || !w.costly()) return false;
  const logical& n = *reader->node;
  if (n.what != verb::group_by && n.what != verb::aggregate) return false;
  // Compiled loops read records where they lie, and lose only where they copy a key.
  if (w.records_in_place() && (n.what == verb::aggregate || n.key->trivial)) return false;
  std::optional<projection> key;
  if (n.what == verb::group_by) {
    key = project(n.functions.front(), w.schema());
    if (!key || !can_be_stored(n.key)) return false;
  }
  auto plan = group_plan_of(*reader, w.schema());
  if (plan && aggregates_computed_arrays(*plan, w.schema())) return false;
  if (!plan) return reader->over_columns = reads_fields(*reader) && !w.schema().optional_row;
  // Records of plain numbers are put together as fast. Groups in order of their first rows are sorted as records.
  if (key && !reader->ordered && !reader->moves && can_be_stored(n.row) && (to_columns || owns_memory(n.row)))
    if (auto groups = project_groups(*key, n.key, *plan, n.functions.back()))
      reader->gives_columns = std::make_shared<const projection>(std::move(*groups));
  reader->group_function = std::move(plan);
  reader->over_columns = true;
  return true;
}

// An order_by of rows that stay where they are: its result is their numbers, and the columns that they select.
bool order_over_columns(vertex* reader, const branch& b, const walk& w, bool to_columns) {
  if (!reader || !reader->node || reader->node->what != verb::order_by || reader->moves) return false;
  if (b.table || !b.source->view || !w.costly()) return false;
  const ir::type* row = reader->node->row;
  const bool few = reader->limit != ~0ull;  // of most rows it reads the keys alone
  if (!to_columns && !few && !owns_memory(row)) return false;  // records are copied as fast
  if (!can_be_stored(row) || w.schema().optional_row) return false;
  if (std::any_of(b.stages.begin(), b.stages.end(), [](const stage& s) { return s.what == stage::kind::probe; })) return false;
  reader->gives_columns = std::make_shared<const projection>(projection::of_columns(w.schema()));
  reader->over_columns = true;
  return true;
}

// A right or full join whose probe side comes as columns all the way.
bool joins_over_columns(vertex* reader, const branch& b, walk& w) {
  if (!reader || !reader->node || reader->node->what != verb::join || &b != &reader->inputs[0]) return false;
  const branch& right = reader->inputs[1];
  if (!w.join(*reader->node, false, is_bare_source(right) ? &right : nullptr, reader->node->functions[1].row) || !w.pays()) return false;
  reader->gives_columns = std::make_shared<const projection>(projection::of_columns(w.schema()));
  reader->over_columns = true;
  return true;
}

// The inputs of a verb that gives their rows again, as walks; empty: one of them cannot run over columns.
std::vector<walk> walks_of(const vertex& v) {
  std::vector<walk> all;
  for (const branch& b : v.inputs) {
    if (!reads_memory(b) || (b.table && b.table->streamed)) return {};
    walk& w = all.emplace_back(b);
    if (w.stages() != b.stages.size() || !w.prefilters() || w.schema().optional_row) return {};
  }
  return all;
}

// concat: the columns of all inputs, one after the other.
bool concat_over_columns(vertex& v) {
  if (v.limit != ~0ull || !can_be_stored(v.row())) return false;
  if (std::none_of(v.inputs.begin(), v.inputs.end(), is_columnar) && !owns_memory(v.row())) return false;
  std::vector<column_schema> schemas;
  for (const walk& w : walks_of(v)) schemas.push_back(w.schema());
  const column_schema* const shared = shared_schema(schemas);
  if (!shared) return false;
  v.gives_columns = std::make_shared<const projection>(projection::of_columns(*shared));
  return true;
}

// distinct, union_with, intersect, except: rows of the first input, or of all of a union, by a key that is read of columns.
bool set_over_columns(vertex& v) {
  if (!can_be_stored(v.row()) || !can_be_stored(v.node->functions[0].result)) return false;
  const bool tells_apart = v.node->what == verb::intersect || v.node->what == verb::except;
  const std::size_t given = tells_apart ? 1 : v.inputs.size();
  if (std::none_of(v.inputs.begin(), v.inputs.end(), is_columnar) && !owns_memory(v.row())) return false;
  std::vector<column_schema> schemas;
  for (const walk& w : walks_of(v)) {
    if (!evaluate(v.node->functions[0], w.schema())) return false;
    if (schemas.size() < given) schemas.push_back(w.schema());
  }
  const column_schema* const shared = shared_schema(schemas);
  if (!shared || !evaluate(v.node->functions[0], *shared)) return false;
  v.gives_columns = std::make_shared<const projection>(projection::of_columns(*shared));
  return true;
}

// zip: columns of both sides, and computed ones.
bool zip_over_columns(vertex& v) {
  const branch &left = v.inputs[0], &right = v.inputs[1];
  if (!can_be_stored(v.row()) || (!is_columnar(left) && !is_columnar(right) && !owns_memory(v.row()))) return false;
  const std::vector<walk> sides = walks_of(v);
  if (sides.empty()) return false;
  const auto p = project(v.node->functions[0], sides[0].schema(), &sides[1].schema());
  if (!p) return false;
  v.gives_columns = std::make_shared<const projection>(projection::of_columns(p->schema()));
  return true;
}

// take, skip, take_while and others by place, default_if_empty: columns of some rows. Slices of records that lie side by side copy nothing,
// either.
bool place_over_columns(vertex& v) {
  const branch& b = v.inputs[0];
  if (!can_be_stored(v.row()) || (!is_columnar(b) && !owns_memory(v.row()))) return false;
  const bool slice = v.node->what != verb::reverse && v.node->what != verb::sample;
  if (slice && !is_columnar(b) && b.prefilters.empty() && b.stages.empty()) return false;
  const std::vector<walk> input = walks_of(v);
  if (input.empty()) return false;
  const bool tested = v.node->what == verb::take_while || v.node->what == verb::skip_while;
  if (tested && !evaluate(v.node->functions[0], input[0].schema())) return false;
  v.gives_columns = std::make_shared<const projection>(projection::of_columns(input[0].schema()));
  return true;
}

// Rows that several readers share, or that a hash table is made of.
bool collected_over_columns(vertex& v) {
  if (v.limit != ~0ull || is_bare_source(v) || v.inputs.size() != 1) return false;
  if (!can_be_stored(v.row()) || (!is_columnar(v.inputs[0]) && !owns_memory(v.row()))) return false;
  const std::vector<walk> input = walks_of(v);
  if (input.empty()) return false;
  v.gives_columns = std::make_shared<const projection>(projection::of_columns(input[0].schema()));
  return true;
}

// A verb whose result is rows of its inputs: decided for all of them at once, as they become columns of one list.
bool gives_rows_of_inputs(const vertex& v) {
  if (!v.node) return true;
  switch (v.node->what) {
    case verb::concat:
    case verb::zip:
    case verb::take:
    case verb::skip:
    case verb::take_last:
    case verb::skip_last:
    case verb::take_while:
    case verb::skip_while:
    case verb::default_if_empty:
    case verb::reverse:
    case verb::sample:
    case verb::distinct:
    case verb::union_with:
    case verb::intersect:
    case verb::except: return true;
    default: return false;
  }
}
bool inputs_over_columns(vertex& v) {
  v.gives_columns = nullptr;
  if (v.streamed || v.moves || v.kept_if_it_fits) return false;
  if (!v.node) return collected_over_columns(v);
  switch (v.node->what) {
    case verb::concat: return concat_over_columns(v);
    case verb::zip: return zip_over_columns(v);
    case verb::distinct:
    case verb::union_with:
    case verb::intersect:
    case verb::except: return set_over_columns(v);
    default: return place_over_columns(v);
  }
}

}  // namespace

const column_schema* shared_schema(const std::vector<column_schema>& all) {
  const column_schema* finest = nullptr;
  for (const column_schema& s : all) {
    const auto holds = [&](const column_schema& other) {
      return std::all_of(s.columns.begin(), s.columns.end(), [&](const auto& c) { return other.holding(c.offset, c.type->size); });
    };
    if ((!finest || s.columns.size() > finest->columns.size()) && std::all_of(all.begin(), all.end(), holds)) finest = &s;
  }
  return finest;
}

// In a session that interprets: the verbs over a columnar source, up to the first whose function does not trace.
static void interpret_over_columns(branch& b) {
  if (!of_columns(b) || !b.prefilters.empty() || b.stages.empty()) return;
  stage& first = b.stages.front();
  if (first.what != stage::kind::rowwise || first.how != form::interpreted) return;
  const std::size_t n = walk(b).nodes(first, b.source->row);
  if (n == 0) return;
  stage rest = first;
  first.how = form::columns;
  if (n == first.nodes.size()) return;
  const auto part = [&](stage& s, std::size_t from, std::size_t to) {
    s.native = nullptr;
    s.nodes.assign(rest.nodes.begin() + static_cast<std::ptrdiff_t>(from), rest.nodes.begin() + static_cast<std::ptrdiff_t>(to));
    s.native_because.assign(rest.native_because.begin() + static_cast<std::ptrdiff_t>(from),
                            rest.native_because.begin() + static_cast<std::ptrdiff_t>(to));
    s.out = s.nodes.back()->row;
  };
  stage behind = rest;
  part(first, 0, n);
  part(behind, n, rest.nodes.size());
  behind.in = first.out;
  b.stages.insert(b.stages.begin() + 1, std::move(behind));
}

// Of columns, the stages up to the last that has no compiled loop: records would be put together for the interpreter, which takes columns.
static std::size_t stages_without_code(const branch& b, std::size_t most) {
  if (!is_columnar(b)) return 0;
  for (; most > 0; --most)
    for (const logical* n : b.stages[most - 1].nodes)
      if (expression_of(n->functions.front())) return most;
  return 0;
}

// The first stage, if it begins with a test of a column that comes as codes, and computes nothing: the test runs once for each entry of
// the dictionary, where a compiled loop would read a string a row.
static std::size_t stages_over_codes(const branch& b, std::size_t most) {
  column_schema rows = source_schema(b);
  const std::vector<bool> coded = b.source && !b.table ? fields_of_codes(*b.source, rows) : std::vector<bool>();
  if (coded.empty() || !most || !b.prefilters.empty() || b.stages.front().what != stage::kind::rowwise) return 0;
  if (b.stages.front().nodes.empty() || b.stages.front().nodes.front()->what != verb::where) return 0;
  const std::vector<const logical*>& nodes = b.stages.front().nodes;
  for (const logical* n : nodes) {
    if (n == nodes.front()) {
      std::vector<bool> read(rows.columns.size());
      mark_read(evaluate(n->functions.front(), rows)->expression.root, rows, read);
      if (std::ranges::count(read, true) != 1 || !coded[static_cast<std::size_t>(std::ranges::find(read, true) - read.begin())]) return 0;
    } else if (n->what != verb::where) {
      const auto p = project(n->functions.front(), rows);
      if (std::ranges::any_of(p->parts, [](const projected_part& x) { return x.computed != nullptr; })) return 0;
      rows = p->schema();
    }
  }
  return 1;
}

std::unique_ptr<branch> over_columns(const branch& b) {
  if (!b.table && !b.source->view && b.source->what != verb::placeholder) return nullptr;
  const auto joins = [](const stage& s) { return s.what == stage::kind::probe || s.fold; };
  if (std::any_of(b.stages.begin(), b.stages.end(), joins)) return nullptr;
  walk w(b);
  if (!w.costly() || w.stages() != b.stages.size() || !w.prefilters()) return nullptr;
  auto all = std::make_unique<branch>(b);
  for (stage& s : all->stages) s.how = form::columns;
  return all;
}

void choose_columns(machine_graph& g, const column_options& options) {
  const rules::edge_index edges(g);
  const auto mark = [&](branch& b, std::size_t stages) {
    for (std::size_t i = 0; i < stages; ++i) {
      stage& s = b.stages[i];
      s.how = form::columns;
      if (s.what != stage::kind::probe || !is_bare_source(*s.build)) continue;
      const rules::edge only = edges.only_reader(*s.build);
      s.build->in_place = only.how == rules::edge::kind::build && only.through == &b;
    }
  };
  rules::each_branch(g, [&](branch& b, vertex* reader) {
    if (reader ? reader->engine != "cpu" || !reader->shares.empty() : g.result_engine != "cpu") return;
    if (!b.table && !b.source) return;  // the rows of the result are read in another process
    const bool gives_inputs = reader && !options.interpret && gives_rows_of_inputs(*reader);
    if (gives_inputs && &b == &reader->inputs.front()) reader->over_columns = inputs_over_columns(*reader);
    if (gives_inputs && reader->over_columns) return mark(b, b.stages.size());
    if (!reads_memory(b)) return;
    if (b.table && (b.table->streamed || sends_states(*b.table))) return;
    if (options.interpret) return interpret_over_columns(b);
    if (!reader && options.fold) {
      if (auto fold = column_fold_of(b, *options.fold)) {
        b.stages.front().how = form::columns;
        b.stages.front().fold = std::move(fold);
        return;
      }
    }
    const bool to_columns = options.to_columns && reader && g.result.table == reader;
    if (groups_large_records(reader, b)) {
      b.by_field = true;
      walk w(b);
      if (w.stages() == b.stages.size() && w.prefilters() && group_over_columns(reader, w, to_columns)) return mark(b, b.stages.size());
      b.by_field = false;
    }
    walk w(b);
    const std::size_t n = w.stages();
    const bool taken =
        n == b.stages.size() && w.prefilters() && (group_over_columns(reader, w, to_columns) ||
                                                                  order_over_columns(reader, b, w, to_columns) ||
                                                                  joins_over_columns(reader, b, w));
    const bool all = taken || w.pays() || (options.to_columns && !reader && is_columnar(b));
    mark(b, all ? n : w.prefilters() ? std::max(stages_without_code(b, n), stages_over_codes(b, n)) : 0);
  });
  for (const auto& v : g.vertices)
    if (merges_states(*v)) v->group_function = v->inputs.front().table->group_function;
}

}  // namespace query::planner
