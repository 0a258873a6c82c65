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

std::vector<edge> readers_of(machine_graph& g, const vertex& v) {
  std::vector<edge> found;
  each_branch(g, [&](branch& b, vertex* reader) {
    if (b.table == &v) found.push_back({edge::kind::rows, reader, &b, 0});
    for (std::size_t i = 0; i < b.stages.size(); ++i)
      if (b.stages[i].build == &v) found.push_back({edge::kind::build, reader, &b, i});
  });
  const auto captures = [&](const std::vector<binding>& list, vertex* reader) {
    for (const binding& c : list)
      if (c.table == &v) found.push_back({edge::kind::capture, reader, nullptr, 0});
  };
  for (auto& w : g.vertices) {
    captures(w->captures, w.get());
    if (w->body_result.table == &v || w->test_result.table == &v) found.push_back({edge::kind::loop, w.get(), nullptr, 0});
  }
  captures(g.captures, nullptr);
  return found;
}

edge only_reader(machine_graph& g, const vertex& v) {
  const std::vector<edge> all = readers_of(g, v);
  return all.size() == 1 ? all.front() : edge{edge::kind::loop, nullptr, nullptr, 0};
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
