// A dataflow of your own vertices: rows that are routed as they come, and a loop whose table goes round over a back edge.
#include <algorithm>
#include <iostream>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <query/dataflow.hpp>

namespace flow = query::dataflow;

struct Link {
  std::size_t a, b;
};

// Words of a text, counted as they come: the long ones by one vertex, the short ones by another, each on its own thread.
void count_words(const std::string& text) {
  flow::graph g;
  const auto lines = g.edge_of<std::string>("lines");
  const auto long_words = g.edge_of<std::string>("long words"), short_words = g.edge_of<std::string>("short words");
  std::map<std::string, int> of_long, of_short;

  g.vertex("read", [&text](flow::output<std::string>& out) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) out.row(line);
  }, flow::writes(lines));
  const auto is_long = [](const std::string& word) { return word.size() > 4; };
  g.each("split", [](const flow::block<std::string>& block, flow::output<std::string>& out) {
    for (const std::string& line : block) {
      std::istringstream in(line);
      for (std::string word; in >> word;) out.row(word);
    }
  }, flow::reads(lines), flow::writes(flow::when(is_long, long_words), flow::otherwise(short_words)));
  const auto count = [](std::map<std::string, int>& counts) {
    return [&counts](flow::input<std::string>& in) {
      while (const auto word = in.row()) ++counts[*word];
    };
  };
  g.vertex("count long", count(of_long), flow::reads(long_words));
  g.vertex("count short", count(of_short), flow::reads(short_words));
  const flow::run_report report = g.run();

  for (const auto& counts : {of_long, of_short}) {
    for (const auto& [word, n] : counts) std::cout << word << " " << n << "  ";
    std::cout << "\n";
  }
  for (const flow::edge_report& e : report.edges) std::cout << e.rows << " rows through '" << e.name << "'\n";
}

// Which nodes hang together? Each takes the least label of its neighbours, round by round, until none changes. The labels are
// a block that goes round: the vertex gets it, changes it in place and sends it back.
std::vector<std::size_t> components(const std::vector<Link>& links, std::size_t nodes) {
  flow::graph g;
  const auto first = g.edge_of<std::size_t>("own labels"), last = g.edge_of<std::size_t>("labels");
  const auto again = g.back_edge_of<std::size_t>("labels that changed");
  std::vector<std::size_t> result;

  g.vertex("label", [nodes](flow::output<std::size_t>& out) {
    std::vector<std::size_t> own(nodes);
    std::iota(own.begin(), own.end(), std::size_t{0});
    out.push(std::move(own));
  }, flow::writes(first));
  g.vertex("spread", [&links](flow::input<std::size_t>& in, flow::output<std::size_t>& back, flow::output<std::size_t>& out) {
    flow::block<std::size_t> labels;
    bool changed = false;
    while (auto got = in.receive()) {
      if (got.has_rows()) {
        labels = std::move(got.rows);
        changed = false;
        const auto label = labels.writable();  // the same memory in every round
        for (const auto& [a, b] : links) {
          const std::size_t least = std::min(label[a], label[b]);
          for (const std::size_t node : {a, b}) changed |= std::exchange(label[node], least) != least;
        }
        continue;
      }
      if (got.is(flow::signal::end_iteration) && changed) back.push(std::move(labels));  // nothing comes back: the loop ends
      if (got.is(flow::signal::end_stream)) out.push(std::move(labels));
      back.tell(got.what());
      out.tell(got.what());
    }
  }, flow::iterates(flow::reads(first), again, nodes), flow::writes(again), flow::writes(last));
  g.vertex("collect", [&result](flow::input<std::size_t>& in) {
    while (const auto label = in.row()) result.push_back(*label);
  }, flow::reads(last));
  g.timeout(60).run();
  return result;
}

int main() {
  count_words("the rain in spain\nfalls mainly in the plain\nthe rain\n");

  const auto labels = components({{6, 3}, {3, 0}, {1, 4}, {4, 7}, {8, 5}}, 9);
  for (std::size_t node = 0; node < labels.size(); ++node) std::cout << "node " << node << ": component " << labels[node] << "\n";
}
