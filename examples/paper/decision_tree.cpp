// ID3: grows a decision tree level by level, by the attribute that leaves the least entropy in each leaf.
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "program.hpp"

template <std::size_t A> struct Example {
  std::array<std::uint8_t, A> values;  // each 0 or 1
  std::uint8_t label;                  // 0 or 1
};
using Example100 = Example<100>;
using Example1000 = Example<1000>;
QUERY_RECORD(Example100, values, label);
QUERY_RECORD(Example1000, values, label);

// Node i has the children 2 i + 1 and 2 i + 2, for the values 0 and 1 of its attribute. A leaf has the attribute -1.
struct Node {
  std::int32_t id, attribute;
  std::int64_t rows, ones;
};
QUERY_RECORD(Node, id, attribute, rows, ones);

// The examples that have come to a leaf. The arrays count those whose attribute is 1: all of them, and those with the
// label 1.
template <std::size_t A> struct Tally {
  std::int32_t leaf;
  std::int64_t rows, ones;
  std::array<std::int64_t, A> set, set_ones;
};
using Tally100 = Tally<100>;
using Tally1000 = Tally<1000>;
QUERY_RECORD(Tally100, leaf, rows, ones, set, set_ones);
QUERY_RECORD(Tally1000, leaf, rows, ones, set, set_ones);

struct Split {
  std::int32_t leaf, attribute;
  std::int64_t rows, ones;
  double entropy;  // after the split, times rows
};
QUERY_RECORD(Split, leaf, attribute, rows, ones, entropy);

std::vector<Node> leaves(int levels) {
  std::vector<Node> nodes((std::size_t{2} << levels) - 1);
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = {static_cast<std::int32_t>(i), -1, 0, 0};
  return nodes;
}

// query:begin
constexpr auto entropy = [](auto rows, auto ones) {  // in bits, times the number of rows
  const auto bits = [](auto n) {
    const auto x = query::cast<double>(n);
    return query::iff(query::lazy(x) > 0.0, x * query::log2(x), 0.0);
  };
  return bits(rows) - bits(ones) - bits(rows - ones);
};

template <std::size_t A>
query::Query<Node> id3(const query::Query<Example<A>>& examples, const query::Query<Node>& first, int levels) {
  return first.do_while([=](query::Query<Node> tree) {
    const auto nodes = query::broadcast(tree);
    const auto leaf = [nodes](auto e) {
      return query::loop(0, [&](auto at) { return nodes[at].attribute >= 0; },
                         [&](auto at) { return 2 * at + 1 + e.values[nodes[at].attribute]; });
    };
    const auto splits = examples.group_by(leaf)
        .select([](auto g) {
          using namespace query::operators;
          const auto ones = g.sum([](auto e) { return query::cast<std::int64_t>(e.label); });
          return query::make<Tally<A>>(g.key(), g.count(), ones, g.sum([](auto e) { return e.values; }),
                                       g.sum([](auto e) { return e.values * e.label; }));
        })
        .cross_join(query::range(0, static_cast<std::int32_t>(A)), [](auto t, auto a) {
          const auto after = entropy(t.set[a], t.set_ones[a]) + entropy(t.rows - t.set[a], t.ones - t.set_ones[a]);
          return query::make<Split>(t.leaf, a, t.rows, t.ones, after);
        })
        .group_by([](auto s) { return s.leaf; })
        .select([](auto g) { return g.arg_min([](auto s) { return s.entropy; }); });
    const std::int32_t inner = (1 << levels) - 1;
    return tree.left_join(splits, [](auto n) { return n.id; }, [](auto s) { return s.leaf; }, [inner](auto n, auto s) {
      if (!s) return n;
      const auto gains = n.id < inner && s->entropy < entropy(s->rows, s->ones) - 1e-9;
      return query::make<Node>(n.id, query::iff(gains, s->attribute, -1), s->rows, s->ones);
    }).order_by([](auto n) { return n.id; });
  }, query::times(levels + 1));
}
// query:end

// loop:begin
double entropy_by_hand(std::int64_t rows, std::int64_t ones) {
  const auto bits = [](std::int64_t n) {
    return n > 0 ? static_cast<double>(n) * std::log2(static_cast<double>(n)) : 0.0;
  };
  return bits(rows) - bits(ones) - bits(rows - ones);
}

template <std::size_t A>
std::vector<Node> id3_by_hand(const std::vector<Example<A>>& examples, std::vector<Node> tree, int levels) {
  struct count {
    std::int64_t rows[2], ones[2];  // for each value
  };
  std::vector<std::int32_t> leaf(examples.size());
  for (int level = 0; level <= levels; ++level) {
    const std::size_t first = (std::size_t{1} << level) - 1, width = first + 1;
    std::vector<count> counts(width * A);
    for (std::size_t i = 0; i < examples.size(); ++i) {
      const Example<A>& e = examples[i];
      if (leaf[i] < static_cast<std::int32_t>(first)) continue;  // its leaf is not split
      count* const row = &counts[(static_cast<std::size_t>(leaf[i]) - first) * A];
      for (std::size_t a = 0; a < A; ++a) {
        ++row[a].rows[e.values[a]];
        row[a].ones[e.values[a]] += e.label;
      }
    }
    for (std::size_t n = 0; n < width; ++n) {
      Node& node = tree[first + n];
      double least = 0;
      for (std::size_t a = 0; a < A; ++a) {
        const count& c = counts[n * A + a];
        node.rows = c.rows[0] + c.rows[1];
        node.ones = c.ones[0] + c.ones[1];
        const double now = entropy_by_hand(c.rows[0], c.ones[0]) + entropy_by_hand(c.rows[1], c.ones[1]);
        if (level == levels || now >= entropy_by_hand(node.rows, node.ones) - 1e-9) continue;
        if (node.attribute >= 0 && now >= least) continue;
        node.attribute = static_cast<std::int32_t>(a);
        least = now;
      }
    }
    for (std::size_t i = 0; i < examples.size(); ++i) {
      const std::int32_t attribute = tree[static_cast<std::size_t>(leaf[i])].attribute;
      if (attribute >= 0) leaf[i] = 2 * leaf[i] + 1 + examples[i].values[static_cast<std::size_t>(attribute)];
    }
  }
  return tree;
}
// loop:end

// The label follows from a few attributes, but for one example in ten.
template <std::size_t A> int main_for(const paper::options& o) {
  paper::random random(6);
  std::vector<Example<A>> examples(static_cast<std::size_t>(o.rows));
  for (Example<A>& e : examples) {
    for (std::uint8_t& v : e.values) v = static_cast<std::uint8_t>(random.uniform() < 0.4);
    const auto& v = e.values;
    const bool truth = v[7] ? (v[11] ? v[23] : !v[31]) : (v[43] ? v[53] || v[61] : v[71] && !v[83]);
    e.label = static_cast<std::uint8_t>(truth != (random.uniform() < 0.1));
  }
  const int levels = 4;
  const std::vector<Node> first = leaves(levels);
  o.write("examples", examples);
  return paper::run(
      o, [&] { return id3_by_hand(examples, first, levels); },
      [&](const paper::way& on) { return id3(on.rows(examples), on.rows(first), levels); },
      [](const auto& a, const auto& b) {
        return std::ranges::equal(a, b, [](const Node& x, const Node& y) {
          return x.id == y.id && x.attribute == y.attribute && x.rows == y.rows && x.ones == y.ones;
        });
      });
}

int main(int argc, char** argv) {
  const paper::options o = paper::read("decision_tree", std::span(argv, static_cast<std::size_t>(argc)),
                                       {{"test", 2000}, {"small", 100'000}, {"middle", 100'000}, {"large", 1'000'000}});
  return o.size == "middle" ? main_for<1000>(o) : main_for<100>(o);
}
