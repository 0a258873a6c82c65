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
    f(b.table, edge{edge::kind::rows, reader, &b, 0});
    for (std::size_t i = 0; i < b.stages.size(); ++i) f(b.stages[i].build, edge{edge::kind::build, reader, &b, i});
  });
  const auto captures = [&](const std::vector<binding>& list, vertex* reader) {
    for (const binding& c : list) f(c.table, edge{edge::kind::capture, reader, nullptr, 0});
  };
  for (auto& w : g.vertices) {
    captures(w->captures, w.get());
    const edge round{edge::kind::loop, w.get(), nullptr, 0};
    f(w->body_result.table, round);
    if (w->test_result.table != w->body_result.table) f(w->test_result.table, round);
  }
  captures(g.captures, nullptr);
}

edge only_one(const std::vector<edge>& all) { return all.size() == 1 ? all.front() : edge{edge::kind::loop, nullptr, nullptr, 0}; }

}  // namespace

std::vector<edge> readers_of(machine_graph& g, const vertex& v) {
  std::vector<edge> found;
  each_edge(g, [&](const vertex* table, const edge& e) {
    if (table == &v) found.push_back(e);
  });
  return found;
}

edge only_reader(machine_graph& g, const vertex& v) { return only_one(readers_of(g, v)); }

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

edge edge_index::only_reader(const vertex& v) const { return only_one(readers_of(v)); }

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

namespace {

void add_captures(std::vector<binding>& to, const std::vector<binding>& from) {
  for (const binding& c : from)
    if (std::none_of(to.begin(), to.end(), [&](const binding& x) { return x.slot == c.slot; })) to.push_back(c);
}

void bypass(machine_graph& g, vertex& v, const edge& reader) {
  branch& to = *reader.through;
  branch& from = v.inputs.front();
  to.source = from.source;
  to.table = from.table;
  to.prefilters.insert(to.prefilters.begin(), from.prefilters.begin(), from.prefilters.end());
  to.stages.insert(to.stages.begin(), std::make_move_iterator(from.stages.begin()), std::make_move_iterator(from.stages.end()));
  add_captures(reader.reader ? reader.reader->captures : g.captures, v.captures);

  const auto is_v = [&](const vertex* w) { return w == &v; };
  std::erase_if(g.top, is_v);
  for (auto& w : g.vertices) {
    std::erase_if(w->body, is_v);
    std::erase_if(w->test, is_v);
  }
  std::erase_if(g.vertices, [&](const auto& w) { return w.get() == &v; });
}

}  // namespace

void drop_verb(machine_graph& g, vertex& v, const edge& reader) {
  if (can_bypass(v, reader)) bypass(g, v, reader);
  else v.node = nullptr;
}

}  // namespace query::planner::rules
