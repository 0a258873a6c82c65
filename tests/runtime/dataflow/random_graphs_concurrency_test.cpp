// Random graphs of routing and merging vertices over tiny edges: all rows arrive, in their streams, and nothing stalls.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "runtime/dataflow/traffic.hpp"

namespace query::dataflow {
namespace {

using sums = std::vector<std::int64_t>;  // of a vertex's rows, by stream

struct link {
  std::size_t from, to;
  int part;  // of `parts` that its writer splits rows into; -1: all
};

struct random_graph {
  std::size_t vertices, sources;
  int streams, rows;
  std::vector<link> links;
  std::vector<int> parts;  // by vertex; 0: rows go to all its readers

  explicit random_graph(std::mt19937& random)
      : vertices(4 + random() % 8), sources(1 + random() % 3), streams(static_cast<int>(1 + random() % 4)),
        rows(static_cast<int>(random() % 60)) {
    parts.resize(vertices);
    for (std::size_t v = sources; v < vertices; ++v) {
      const std::size_t ins = 1 + random() % 3;
      for (std::size_t k = 0; k < ins; ++k) links.push_back({random() % v, v, -1});
    }
    for (std::size_t v = 0; v < vertices; ++v) {
      int next = 0;
      const bool splits = random() % 2;
      for (link& l : links) {
        if (splits && l.from == v) l.part = next++;
      }
      parts[v] = next;
    }
  }
};

bool goes(int row, int part, int parts) { return part < 0 || row % parts == part; }

// Rows that each vertex sends on, by stream, one after the other.
std::vector<std::vector<std::vector<int>>> rows_of(const random_graph& r) {
  std::vector<std::vector<std::vector<int>>> all(r.vertices, std::vector<std::vector<int>>(static_cast<std::size_t>(r.streams)));
  for (std::size_t v = 0; v < r.vertices; ++v) {
    for (std::size_t s = 0; s < all[v].size(); ++s) {
      for (int i = 0; v < r.sources && i < r.rows; ++i) all[v][s].push_back(i + static_cast<int>(s));
      for (const link& l : r.links) {
        if (l.to != v) continue;
        for (const int x : all[l.from][s]) {
          if (goes(x, l.part, r.parts[l.from])) all[v][s].push_back(x + 1);
        }
      }
    }
  }
  return all;
}

TEST(dataflow_random_graphs, deliver_all_rows_in_their_streams) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const random_graph r(random);
    graph g({.rows_of_block = 1 + random() % 5});
    std::vector<edge<int>> edges;
    for (std::size_t l = 0; l < r.links.size(); ++l) edges.push_back(g.edge_of<int>("e" + std::to_string(l), 1 + random() % 3));
    std::vector<sums> found(r.vertices);
    for (std::size_t v = 0; v < r.vertices; ++v) {
      std::vector<source<int>> in;
      std::vector<route<int>> out;
      for (std::size_t l = 0; l < r.links.size(); ++l) {
        if (r.links[l].to == v) in.push_back(reads(edges[l]));
        if (r.links[l].from != v) continue;
        const int part = r.links[l].part, parts = r.parts[v];
        if (part < 0) out.push_back(always(edges[l]));
        else out.push_back(when([=](int x) { return goes(x, part, parts); }, edges[l]));
      }
      const std::string name = "v" + std::to_string(v);
      const auto make = [&r](output<int>& to) {
        for (int s = 0; s < r.streams; ++s) {
          to.tell(signal::begin_stream);
          for (int i = 0; i < r.rows; ++i) to.row(i + s);
          to.tell(signal::end_stream);
        }
      };
      const auto sum = [&own = found[v]](input<int>& from) {
        while (from.next_stream()) {
          own.push_back(0);
          while (const auto x = from.row()) own.back() += *x + 1;
        }
      };
      const auto pass = [](const block<int>& b, output<int>& to) {
        for (const int x : b) to.row(x + 1);
      };
      if (v < r.sources && !out.empty()) g.vertex(name, make, writes(std::move(out)));
      else if (v >= r.sources && out.empty()) g.vertex(name, sum, merges(std::move(in)));
      else if (v >= r.sources) g.each(name, pass, merges(std::move(in)), writes(std::move(out)));
    }
    g.timeout(60).run();

    const auto expected = rows_of(r);
    for (std::size_t v = r.sources; v < r.vertices; ++v) {
      if (std::any_of(r.links.begin(), r.links.end(), [&](const link& l) { return l.from == v; })) continue;
      sums wanted;
      for (const auto& stream : expected[v]) wanted.push_back(std::accumulate(stream.begin(), stream.end(), std::int64_t{0}));
      EXPECT_EQ(found[v], wanted) << v;
    }
  }
}

}  // namespace
}  // namespace query::dataflow
