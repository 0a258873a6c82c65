// Which vertices hand their rows on as they come instead of making a table of them first.
//
// Those whose input has no known length (a generator, or another such vertex), whose verb can give its first rows without
// having seen the last, and whose only reader may stop early: a loop over the rows, take, take_while, zip... Whatever needs
// all rows anyway (group_by, order_by, a count) has the faster table below it.
#include <algorithm>
#include <set>

#include "planner/machine_graph.hpp"
#include "planner/rules/edges.hpp"

namespace query::planner {

using detail::verb;

namespace {

// A table of one distinct costs several threads, a stream of it one: only who may stop early wants that.
bool looks_up_keys(const vertex& v) { return v.node && (v.node->what == verb::distinct || v.node->what == verb::union_with); }

bool can_stream(const vertex& v) {
  if (!v.node) return v.inputs.size() == 1;
  switch (v.node->what) {
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
    case verb::union_with: return true;
    default: return false;
  }
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

}  // namespace

void mark_streams(machine_graph& g, reading how) {
  const std::set<const vertex*> once(g.top.begin(), g.top.end());  // vertices of loops run again and again
  std::set<const vertex*> able;
  const auto is_stream = [&](const branch& b) { return b.table ? able.contains(b.table) : b.source && b.source->open; };
  for (const auto& v : g.vertices) {
    v->streamed = false;
    if (v->engine == "cpu" && once.contains(v.get()) && can_stream(*v) && std::any_of(v->inputs.begin(), v->inputs.end(), is_stream)) able.insert(v.get());
  }
  for (std::size_t i = g.vertices.size(); i-- > 0;) {
    vertex& v = *g.vertices[i];
    if (!able.contains(&v)) continue;
    const rules::edge e = rules::only_reader(g, v);
    if (e.how != rules::edge::kind::rows) continue;
    if (!e.reader) v.streamed = how == reading::on_demand || (how == reading::in_order && !looks_up_keys(v));
    else v.streamed = e.reader->engine == "cpu" && once.contains(e.reader) && (e.reader->streamed || reads_no_further_than_needed(*e.reader));
  }
}

}  // namespace query::planner
