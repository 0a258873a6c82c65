#include "planner/rules/edges.hpp"

#include <algorithm>
#include <iterator>

namespace query::planner::rules {

using detail::verb;

void each_branch(machine_graph& g, const std::function<void(branch&, vertex*)>& f) {
  for (auto& v : g.vertices)
    for (branch& b : v->inputs) f(b, v.get());
  f(g.result, nullptr);
}

namespace {

// Calls f(table, edge) for each edge of the graph; some tables are null, where a source is read.
template <class F> void each_edge(machine_graph& g, F f) {
  each_branch(g, [&](branch& b, vertex* reader) {
    f(b.table, edge{edge::kind::rows, reader, &b});
    for (const stage& s : b.stages) f(s.build, edge{edge::kind::build, reader, &b, s.join, s.build_left});
  });
  const auto captures = [&](const std::vector<binding>& list, vertex* reader) {
    for (const binding& c : list) f(c.table, edge{edge::kind::capture, reader});
  };
  for (auto& w : g.vertices) {
    captures(w->captures, w.get());
    const edge round{edge::kind::loop, w.get()};
    f(w->body_result.table, round);
    if (w->test_result.table != w->body_result.table) f(w->test_result.table, round);
  }
  captures(g.captures, nullptr);
}

}  // namespace

edge_index::edge_index(machine_graph& g) {
  each_edge(g, [&](const vertex* table, const edge& e) {
    if (table) readers_[table].push_back(e);
  });
}

const std::vector<edge>& edge_index::readers_of(const vertex& v) const {
  static const std::vector<edge> none;
  const auto found = readers_.find(&v);
  return found == readers_.end() ? none : found->second;
}

edge edge_index::only_reader(const vertex& v) const {
  const std::vector<edge>& all = readers_of(v);
  return all.size() == 1 ? all.front() : edge{edge::kind::loop};
}

bool only_filters(const stage& s) {
  return s.what == stage::kind::rowwise &&
         std::all_of(s.nodes.begin(), s.nodes.end(), [](const logical* n) { return n->what == verb::where; });
}

bool numbers_rows(const branch& b) {
  return std::any_of(b.stages.begin(), b.stages.end(), [](const stage& s) { return s.native && s.native->needs_position(); });
}

bool can_bypass(const vertex& v, const edge& reader) {
  const branch& from = v.inputs.front();
  if (reader.how != edge::kind::rows || !reader.through->prefilters.empty()) return false;
  const bool same_rounds = !reader.reader || reader.reader->slots == v.slots;
  // Numbers are those of rows of a table or a source; with stages before them they would be others.
  const bool bare = from.stages.empty() && from.prefilters.empty();
  return (same_rounds || from.stages.empty()) && (bare || !numbers_rows(*reader.through));
}

bool keeps_count(const rewriting& r, const branch& b) {
  if (!b.prefilters.empty()) return false;
  return std::all_of(b.stages.begin(), b.stages.end(), [&](const stage& s) {
    return s.what == stage::kind::rowwise && std::all_of(s.nodes.begin(), s.nodes.end(), [&](const logical* n) {
      return n->what == verb::select || (n->what == verb::where && b.table && r.passed.contains({b.table, n}));
    });
  });
}

void add_captures(std::vector<binding>& to, const std::vector<binding>& from) {
  for (const binding& c : from)
    if (std::none_of(to.begin(), to.end(), [&](const binding& x) { return x.slot == c.slot; })) to.push_back(c);
}

namespace {

template <class X> void put_before(std::vector<X>& all, std::vector<X>& first) {
  first.insert(first.end(), std::make_move_iterator(all.begin()), std::make_move_iterator(all.end()));
  all = std::move(first);
}

void bypass(machine_graph& g, vertex& v, const edge& reader) {
  branch& to = *reader.through;
  branch& from = v.inputs.front();
  to.source = from.source;
  to.table = from.table;
  // What comes from below grows with each vertex that goes: the reader's own are added to it, not the other way round.
  put_before(to.prefilters, from.prefilters);
  put_before(to.stages, from.stages);
  add_captures(reader.reader ? reader.reader->captures : g.captures, v.captures);
}

}  // namespace

void drop_verb(rewriting& r, vertex& v, const edge& reader) {
  if (!can_bypass(v, reader)) {
    v.node = nullptr;
    return;
  }
  bypass(r.graph, v, reader);
  r.dropped.insert(&v);
}

void remove_dropped(rewriting& r) {
  if (r.dropped.empty()) return;
  const auto gone = [&](const vertex* v) { return r.dropped.contains(v); };
  std::erase_if(r.graph.top, gone);
  for (auto& v : r.graph.vertices) {
    std::erase_if(v->body, gone);
    std::erase_if(v->test, gone);
  }
  std::erase_if(r.graph.vertices, [&](const auto& v) { return gone(v.get()); });
  r.dropped.clear();
}

}  // namespace query::planner::rules
