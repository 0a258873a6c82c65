// Columns that nobody reads are neither gathered nor parsed: follows the rows of each columnar or file source through the
// traced functions until a function makes other rows of them. An opaque function, or rows that go on whole, read all.
#include <algorithm>
#include <set>

#include "ir/analysis.hpp"
#include "planner/rules/edges.hpp"

namespace query::planner::rules {

using detail::join_kind;
using detail::verb;

namespace {

class reading {
 public:
  reading(rewriting& r, const edge_index& edges, const ir::type* row) : r_(r), edges_(edges), row_(row), fields_(row->fields().size()) {}

  // The branch starts with the source's rows.
  void branch_of_source(const branch& b, const vertex* reader) {
    open_.push_back({&b, reader});
    // Readers of readers, without recursion; who follows rows that far finds that all is read.
    constexpr std::size_t most = 256;
    while (!open_.empty() && seen_.size() < most) {
      const auto [from, by] = open_.back();
      open_.pop_back();
      follow(*from, by);
    }
    if (!open_.empty()) all();
    open_.clear();
  }
  // The source's rows are the build side of a join.
  void build_side(const logical& join, bool build_left) { side(join, !build_left); }

  const std::vector<bool>& fields() const { return fields_; }

 private:
  void follow(const branch& b, const vertex* reader) {
    for (const prefilter& f : b.prefilters)
      if (f.expression) add(f.expression, 0);
      else add(*f.function, 0);
    for (const stage& s : b.stages)
      if (!through(s)) return;
    last(b, reader);
  }
  void all() { fields_.assign(fields_.size(), true); }
  void add(const ir::traced& t, std::uint32_t row) {
    if (t) ir::fields_used(t.root, row, row_, fields_);
    else all();
  }
  void add(const detail::user_function& f, std::uint32_t row) { add(r_.trace(f), row); }
  void add_list(const detail::user_function& f, std::uint32_t list) {  // of a function of a list of the rows
    const ir::traced& t = r_.trace(f);
    if (t && !r_.options.verify) ir::element_fields_used(t.root, list, row_, fields_);
    else all();
  }
  void functions(const logical& n) {  // of its rows
    for (const detail::user_function& f : n.functions) add(f, 0);
  }

  // Do the same rows go on after the stage?
  bool through(const stage& s) {
    if (s.what == stage::kind::probe) return side(*s.join, s.build_left);
    for (const logical* n : s.nodes) {
      add(n->functions.front(), 0);
      if (n->what != verb::where) return false;
    }
    return true;
  }
  // The rows as the left or right input of a join: its key, and what becomes of them. Do they go on?
  bool side(const logical& join, bool right) {
    add(join.functions[right ? 1 : 0], 0);
    if (join.join == join_kind::semi || join.join == join_kind::anti) return !right;
    const ir::traced& result = r_.trace(join.functions.back());
    // A side that may be missing is an optional, which is not read by field.
    const bool optional = right ? join.join == join_kind::left || join.join == join_kind::full
                                : join.join == join_kind::right || join.join == join_kind::full;
    if (optional) all();
    else add(result, right ? 1 : 0);
    return false;
  }
  void last(const branch& b, const vertex* reader) {
    if (!reader) {
      if (r_.graph.terminal != "count") all();
      return;
    }
    if (!reader->node) return handed_on(*reader);
    const logical& n = *reader->node;
    const bool right = reader->inputs.size() == 2 && &b == &reader->inputs[1];
    switch (n.what) {
      case verb::group_by:
      case verb::aggregate:
        return functions(n);
      case verb::order_by:
        functions(n);
        return n.functions.empty() ? all() : handed_on(*reader);
      case verb::join:
        if (side(n, right)) handed_on(*reader);
        return;
      case verb::group_join:  // its function gets the right rows as a list
        add(n.functions[right ? 1 : 0], 0);
        return right ? add_list(n.functions.back(), 1) : add(n.functions.back(), 0);
      case verb::chunk:
      case verb::window: return n.all || reader->accelerated ? all() : add_list(n.functions.front(), 0);
      case verb::cross_join:
      case verb::zip:
        for (const detail::user_function& f : n.functions) add(f, right ? 1 : 0);
        return;
      case verb::take:
      case verb::skip:
      case verb::take_last:
      case verb::skip_last:
        if (b.table) return handed_on(*reader);
        [[fallthrough]];
      case verb::take_while:
      case verb::skip_while:
      case verb::default_if_empty:
      case verb::distinct:
      case verb::union_with:
      case verb::intersect:
      case verb::except:
      case verb::partition:
      case verb::concat:
      case verb::reverse:
      case verb::sample:
        if (r_.options.verify) return all();  // messages show the rows of functions behind it
        functions(n);
        // Of the right rows the keys.
        return right && (n.what == verb::intersect || n.what == verb::except) ? void() : handed_on(*reader);
      default: all();
    }
  }
  // The same rows, or some of them, for who reads the vertex.
  void handed_on(const vertex& v) {
    if (!seen_.insert(&v).second) return;  // another way there
    const std::vector<edge>& readers = edges_.readers_of(v);
    if (readers.empty()) all();
    for (const edge& e : readers) {
      if (e.how == edge::kind::rows) open_.push_back({e.through, e.reader});
      else if (e.how == edge::kind::build) build_side(*e.join, e.build_left);
      else all();
    }
  }

  rewriting& r_;
  const edge_index& edges_;
  const ir::type* row_;
  std::vector<bool> fields_;
  std::set<const vertex*> seen_;  // whose rows are the source's
  std::vector<std::pair<const branch*, const vertex*>> open_;  // that begin with them, and who reads those
};

std::string note_text(const ir::type* row, const std::vector<bool>& wanted) {
  std::string text = "projection_pruning: reads";
  std::size_t n = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) text += (n++ ? ", " : " ") + std::string(row->fields()[i].name);
  if (n == 0) text += " no column";
  return text + " of " + std::to_string(wanted.size()) + " columns";
}

bool worth_it(const ir::type* row, const std::vector<bool>& wanted) {
  return row->k == ir::kind::record && std::find(wanted.begin(), wanted.end(), false) != wanted.end();
}

// Of rows that lie in one piece a GPU is brought no fields but those: known to it alone, the CPU reads such rows where they lie.
void rows_of_accelerated(rewriting& r, const edge_index& edges) {
  each_branch(r.graph, [&](branch& b, vertex* reader) {
    if (!(reader ? reader->accelerated : r.graph.root.node->accelerated)) return;
    const ir::type* row = b.table ? b.table->row() : b.source->row;
    // A loop's variable stays on the device.
    if (row->k != ir::kind::record || (b.source && (b.source->what == verb::source_columns || b.source->what == verb::placeholder))) return;
    reading fields(r, edges, row);
    fields.branch_of_source(b, reader);
    if (worth_it(row, fields.fields())) b.wanted = fields.fields();
  });
}

}  // namespace

void projection_pruning(rewriting& r) {
  const edge_index edges(r.graph);
  each_branch(r.graph, [&](branch& b, vertex* reader) {
    if (!b.source || b.source->what != verb::source_columns) return;
    reading fields(r, edges, b.source->row);
    fields.branch_of_source(b, reader);
    if (!worth_it(b.source->row, fields.fields())) return;
    b.wanted = fields.fields();
    // A compiled loop that only makes rows of columns makes all of each row: gathering makes what is wanted.
    if (!b.stages.empty() && b.stages.front().native && b.stages.front().nodes.empty()) b.stages.erase(b.stages.begin());
    const bool whole_rows =
        !b.stages.empty() && b.stages.front().native && b.stages.front().native->reads_columns() && only_filters(b.stages.front());
    note(r, reader,
         note_text(b.source->row, b.wanted) + (whole_rows ? "; the compiled loop still makes whole rows of those that pass" : ""));
  });
  for (auto& v : r.graph.vertices) {
    if (!v->node || v->node->what != verb::source_file) continue;
    reading fields(r, edges, v->node->row);
    std::vector<bool> wanted(v->node->row->fields().size());
    bool known = true;
    for (const edge& e : edges.readers_of(*v)) {
      if (e.how == edge::kind::rows) fields.branch_of_source(*e.through, e.reader);
      else if (e.how == edge::kind::build) fields.build_side(*e.join, e.build_left);
      else known = false;
    }
    if (!known || !worth_it(v->node->row, fields.fields())) continue;
    v->wanted = fields.fields();
    note(r, v.get(), note_text(v->node->row, v->wanted));
  }
  // What functions read of a row is compared with what their traces do.
  if (!r.options.verify) rows_of_accelerated(r, edges);
}

}  // namespace query::planner::rules
