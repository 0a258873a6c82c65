// Groups of rows of a Parquet file that no reader wants need not be read: what the first tests of each reader say of single fields is left
// with the description of the file, whose reader asks the statistics of each group. The tests themselves stay where they are.
#include "data/file_source.hpp"
#include "ir/analysis.hpp"
#include "planner/file_row_tests.hpp"
#include "planner/rules/edges.hpp"

namespace query::planner::rules {

using detail::verb;

namespace {

bool has_statistics(const vertex& v) {
  if (!v.node || v.node->what != verb::source_file) return false;
  return data::is_columnar(static_cast<const data::file_source*>(v.node->options.get())->format);
}

// The description of the files belongs to all plans that read them: this one gets a copy, which goes where the plan goes.
void leave_with(vertex& v, data::row_tests tests, machine_graph& g) {
  auto source = std::make_shared<data::file_source>(*static_cast<const data::file_source*>(v.node->options.get()));
  source->wanted_rows = std::move(tests);
  auto node = std::make_shared<logical>(*v.node);
  node->options = std::move(source);
  v.node = node.get();
  g.verbs.push_back(std::move(node));
}

class tests_of_branch {
 public:
  tests_of_branch(rewriting& r, const ir::type* row) : r_(r), row_(row) {}

  data::row_tests of(const branch& b) {
    if (numbers_rows(b)) return {};  // they would be others
    bool go_on = true;
    for (const prefilter& f : b.prefilters) go_on = go_on && add(f.expression ? f.expression : r_.trace(*f.function));
    for (const stage& s : b.stages) {
      go_on = go_on && s.what == stage::kind::rowwise;
      for (std::size_t i = 0; go_on && i < s.nodes.size(); ++i)
        go_on = s.nodes[i]->what == verb::where && add(r_.trace(s.nodes[i]->functions.front()));
    }
    return all_;
  }

 private:
  // Whose failure, or whose effects, somebody could miss ends what may be asked ahead of it.
  bool add(const ir::traced& t) {
    if (!t) return false;
    const bool tested = !ir::takes_untested_values(t.root);
    for (const ir::node* part : ir::conjuncts(t.root)) {
      if (!may_be_left_out(part, tested)) return false;
      all_ = both(all_, row_tests_of(part, row_));
    }
    return true;
  }

  rewriting& r_;
  const ir::type* row_;
  data::row_tests all_;
};

}  // namespace

void row_group_pruning(rewriting& r) {
  const edge_index edges(r.graph);
  for (auto& v : r.graph.vertices) {
    if (!has_statistics(*v) || v->limit != ~0ull) continue;
    data::row_tests all;
    bool first = true;
    for (const edge& e : edges.readers_of(*v)) {
      const data::row_tests own = e.how == edge::kind::rows ? tests_of_branch(r, v->node->row).of(*e.through) : data::row_tests{};
      all = first ? own : either(all, own);
      first = false;
    }
    if (all.empty()) continue;
    note(r, v.get(), "row_group_pruning: skips groups whose statistics exclude " + data::show(all));
    leave_with(*v, std::move(all), r.graph);
  }
}

}  // namespace query::planner::rules
