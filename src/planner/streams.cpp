// Which vertices hand their rows on as they come instead of making a table of them first.
//
// Those whose verb can give its first rows without having seen the last, and whose only reader wants it so:
// - a reader that may stop early (a loop over the rows, take, take_while, zip...) is not to wait for all rows of a generator, nor,
//   if it takes rows one by one, for those of any other source; nor is a file to be read further than such a reader goes;
// - a reader that sees each row once (a count, group_by) needs no memory for those of a generator, whose number nobody knows, nor
//   for the pairs of a cross_join and the lists of a window, which are far more.
// Whatever needs all rows side by side anyway has the faster table below it. Where memory has no room for a table with one reader, that
// reader takes the rows as they come too (vertex::may_stream).
//
// Vertices that hand rows on call each other, each on top of its reader: one of so many is a table, unless rows without a known end
// must come through for a reader that may stop early (cpu_engine/vertex_streams.cpp says where the stack ends first).
#include <algorithm>
#include <unordered_map>

#include "data/file_source.hpp"
#include "planner/machine_graph.hpp"
#include "planner/rules/edges.hpp"

namespace query::planner {

using detail::verb;
using rules::edge;

namespace {

// A table of one distinct costs several threads, a stream of it one: only who may stop early wants that.
bool looks_up_keys(const vertex& v) { return v.node && (v.node->what == verb::distinct || v.node->what == verb::union_with); }
bool makes_pairs(const vertex& v) { return v.node && v.node->what == verb::cross_join; }

// Lists that share rows: together they hold many times the rows that there are.
bool makes_windows(const vertex& v) { return v.node && v.node->all && v.node->what == verb::window; }

bool is_file(const vertex& v) { return v.node && v.node->what == verb::source_file; }
// How many rows others have is known once they have been read.
bool knows_its_rows(const vertex& v) {
  return data::is_columnar(static_cast<const data::file_source*>(v.node->options.get())->format);
}

bool can_stream(const vertex& v) {
  if (v.engine != "cpu" || v.moves) return false;
  if (is_file(v)) return true;
  return v.node ? hands_on(v.node->what) : v.inputs.size() == 1;
}

// As a table too, this verb computes no more of its input than it needs.
bool reads_no_further_than_needed(const vertex& v) {
  if (!v.node) return v.limit != ~0ull;
  switch (v.node->what) {
    case verb::take:
    case verb::take_while:
    case verb::zip: return true;
    case verb::skip:
    case verb::concat: return v.limit != ~0ull;
    default: return false;
  }
}

bool can_be_copied(const ir::type* t) { return t->trivial || t->life.copy; }

// A stream of this input would be collected as it is, or have lost the bounds of partitions.
bool wants_table(const vertex& v, const branch& input) {
  if (!v.node) return false;
  if (v.node->what == verb::apply) return true;
  if (!input.stages.empty() || !input.prefilters.empty()) return false;
  switch (v.node->what) {
    case verb::reverse:
    case verb::sample:
    case verb::partition:
    case verb::skip_last:
    case verb::cached: return true;
    case verb::cross_join: return &input != &v.inputs.front();
    default: return false;
  }
}

// Sees each row of this input once and keeps none of them.
bool reads_once(const vertex& v, const branch& input) {
  if (!v.node) return false;
  switch (v.node->what) {
    case verb::group_by:
    case verb::aggregate: return true;
    case verb::join:
    case verb::group_join: return &input == &v.inputs.front();
    default: return false;
  }
}

class marking {
 public:
  marking(machine_graph& g, reading how) : graph_(&g), how_(how) {
    for (const vertex* v : g.top) runs_in_[v] = &g.top;
    for (const auto& v : g.vertices)
      for (const auto* list : {&v->body, &v->test})
        for (const vertex* w : *list) runs_in_[w] = list;
  }

  void mark() {
    for (const auto& v : graph_->vertices) {
      v->streamed = false;
      bool unknown = false;
      for (const branch& b : v->inputs) unknown = unknown || (b.table ? flows_[b.table] : b.source->open != nullptr);
      flows_[v.get()] = unknown && can_stream(*v);
    }
    const rules::edge_index edges(*graph_);
    for (std::size_t i = graph_->vertices.size(); i-- > 0;) {
      vertex& v = *graph_->vertices[i];
      if (!can_stream(v)) continue;
      const edge e = edges.only_reader(v);
      if (e.how != edge::kind::rows || !together(v, e.reader)) continue;
      one_by_one_[&v] = e.reader ? e.reader->streamed && one_by_one_[e.reader] : how_ == reading::on_demand;
      const bool elsewhere = !e.reader && graph_->result_engine != "cpu";  // an engine that knows tables alone folds the rows
      v.streamed = !elsewhere &&
                   (makes_pairs(v) || makes_windows(v) ? wants_many(v, e) : flows_[&v] ? wants_stream(v, e) : wants_first_rows(v, e));
      bound_nesting(v, e.reader);
    }
    mark_for_small_memory(edges);
  }

 private:
  static constexpr int most_nested = 32;  // streams that call each other
  struct nesting {
    int streams = 0;          // that call each other, up to this one
    bool stops_early = false; // a reader above may
  };
  void bound_nesting(vertex& v, const vertex* reader) {
    const nesting above = reader && reader->streamed ? nested_[reader] : nesting();
    nesting& here = nested_[&v];
    here.stops_early = reader ? above.stops_early || reads_no_further_than_needed(*reader) : how_ == reading::on_demand;
    here.streams = above.streams + 1;
    const bool endless = flows_[&v] && here.stops_early;
    if (here.streams > most_nested && !endless) v.streamed = false;
  }
  // Chains of both kinds of streams are no longer than those of one.
  void mark_for_small_memory(const rules::edge_index& edges) {
    std::unordered_map<const vertex*, int> up_to, down_to;  // streams that call each other, with this one
    for (const auto& v : graph_->vertices) {                // inputs first
      int below = 0;
      for (const branch& b : v->inputs)
        if (b.table && b.table->streamed) below = std::max(below, down_to[b.table]);
      down_to[v.get()] = below + 1;
    }
    std::unordered_map<const vertex*, bool> read_again;  // by rounds of a loop
    for (std::size_t i = graph_->vertices.size(); i-- > 0;) {
      vertex& v = *graph_->vertices[i];
      v.may_stream = false;
      const edge e = edges.only_reader(v);
      if (e.how != edge::kind::rows) continue;
      const bool called = e.reader && (e.reader->streamed || e.reader->may_stream);
      up_to[&v] = called ? up_to[e.reader] + 1 : 1;
      read_again[&v] = e.reader && (called ? read_again[e.reader] : e.reader->kept_if_it_fits);
      v.may_stream = !v.streamed && !read_again[&v] && reads_as_they_come(v, e) && up_to[&v] - 1 + down_to[&v] <= most_nested;
    }
  }
  bool reads_as_they_come(const vertex& v, const edge& e) {
    if (is_file(v) && !knows_its_rows(v)) return false;
    if (!can_stream(v) || looks_up_keys(v) || !v.shares.empty() || v.kept_if_it_fits || !can_be_copied(v.row())) return false;
    if (runs_in_[&v] != static_cast<const void*>(&graph_->top) || !together(v, e.reader)) return false;
    if (!e.reader) return how_ != reading::whole;
    const bool loop = e.reader->node && e.reader->node->what == verb::do_while;
    return !loop && e.reader->shares.empty() && !wants_table(*e.reader, *e.through);
  }
  // Run in the same round of the same loop: what a loop keeps for its rounds is a table.
  bool together(const vertex& v, const vertex* reader) {
    if (!reader) return runs_in_[&v] == static_cast<const void*>(&graph_->top);
    return reader->engine == "cpu" && runs_in_[&v] == runs_in_[reader];
  }
  // A source whose length nobody knows.
  bool wants_stream(const vertex& v, const edge& e) const {
    if (!e.reader) return how_ == reading::on_demand || (how_ != reading::whole && !looks_up_keys(v));
    if (e.reader->streamed || reads_no_further_than_needed(*e.reader)) return true;
    return !looks_up_keys(v) && reads_once(*e.reader, *e.through);
  }
  // All rows are there, or can be computed side by side faster than one piece after the other.
  bool wants_first_rows(const vertex& v, const edge& e) {
    if (is_file(v)) return wants_first_lines(v, e);
    if (one_by_one_[&v]) return true;
    return e.reader && e.reader->node && e.reader->node->what == verb::take && !looks_up_keys(v);
  }
  // Rows of a file cost more than those of memory; but the right side of a cross_join is read to its end, sooner rather than later.
  bool wants_first_lines(const vertex& v, const edge& e) {
    if (e.reader && makes_pairs(*e.reader) && e.through != &e.reader->inputs.front()) return false;
    return one_by_one_[&v] || (e.reader && (e.reader->streamed || reads_no_further_than_needed(*e.reader)));
  }
  // Rows that are far more than those that they are made of.
  bool wants_many(const vertex& v, const edge& e) {
    const bool changed = !e.through->stages.empty() || !e.through->prefilters.empty();
    if (!e.reader) return how_ != reading::whole || changed;
    return changed || e.reader->streamed || reads_no_further_than_needed(*e.reader) || reads_once(*e.reader, *e.through) || one_by_one_[&v];
  }

  machine_graph* graph_;
  reading how_;
  std::unordered_map<const vertex*, const void*> runs_in_;  // the list of vertices that it stands in
  std::unordered_map<const vertex*, bool> flows_;           // has an input of unknown length
  std::unordered_map<const vertex*, bool> one_by_one_;      // read by a loop over rows, through others
  std::unordered_map<const vertex*, nesting> nested_;
};

}  // namespace

bool hands_on(verb what) {
  switch (what) {
    case verb::take:
    case verb::skip:
    case verb::take_while:
    case verb::skip_while:
    case verb::concat:
    case verb::zip:
    case verb::default_if_empty:
    case verb::chunk:
    case verb::window:
    case verb::distinct:
    case verb::union_with:
    case verb::cross_join: return true;
    default: return false;
  }
}

void mark_streams(machine_graph& g, reading how) { marking(g, how).mark(); }

}  // namespace query::planner
