#include <algorithm>

#include "simulation.hpp"

namespace query::tests::simulated {

namespace {
std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 31;
  x *= 0x9e3779b97f4a7c15;
  return x ^ (x >> 29);
}
}  // namespace

rows source_rows(std::uint64_t vertex, std::uint32_t partition) {
  rows all;
  for (std::uint64_t i = 0; i < mixed(vertex * 64 + partition) % 12; ++i) all.push_back(mixed(vertex << 20 | partition << 10 | i));
  return all;
}
rows computed(std::uint64_t vertex, const std::vector<const rows*>& reads) {
  rows all;
  for (const rows* r : reads)
    for (const std::uint64_t x : *r)
      if (all.size() < 40) all.push_back(mixed(x + vertex));
  return all;
}
rows of_leader(std::uint64_t vertex, std::uint64_t value) { return {mixed(value + vertex), mixed(value ^ vertex)}; }
std::vector<rows> buckets(op::way moves, const rows& all, std::uint32_t partitions) {
  if (moves != op::way::hash) return {all};
  std::vector<rows> apart(partitions);
  for (const std::uint64_t x : all) apart[x % partitions].push_back(x);
  return apart;
}
std::uint64_t sum(const rows& all) {
  std::uint64_t s = 0, i = 0;
  for (const std::uint64_t x : all) s += x * (2 * ++i + 1);  // the order counts
  return s;
}

// Chains, exchanges and folds over a few sources, and loops whose rounds run the same vertices with what the leader has by then.
plan random_plan(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return static_cast<std::size_t>(random() % n); };
  plan p;
  p.partitions = static_cast<std::uint32_t>(2 + below(4));
  std::vector<std::uint64_t> everywhere;  // vertices with rows in all partitions
  std::uint64_t last = 0;
  const auto vertex = [&](std::vector<op>& ops, std::vector<std::uint64_t>& known) {
    op o;
    o.vertex = ++last;
    const auto any = [&] { return known[below(known.size())]; };
    switch (known.empty() ? 0 : below(6)) {
      case 0: known.push_back(o.vertex); break;
      case 1:
        o.reads.push_back(any());
        [[fallthrough]];
      case 2:
        o.reads.push_back(any());
        known.push_back(o.vertex);
        break;
      case 3:
      case 4:
        o.what = op::kind::exchange;
        o.reads.push_back(any());
        if (below(4) == 0) o.moves = op::way::broadcast;
        known.push_back(o.vertex);
        break;
      default: {
        o.what = op::kind::exchange;
        o.moves = op::way::gather;
        o.reads.push_back(any());
        ops.push_back(o);
        ops.push_back({op::kind::take, {}, o.vertex, {o.vertex}});
        if (below(2) == 0) return;
        op sent;
        sent.what = op::kind::exchange;
        sent.moves = below(2) ? op::way::broadcast : op::way::hash;
        sent.vertex = ++last;
        sent.from_leader = true;
        sent.reads = {o.vertex};
        ops.push_back(sent);
        known.push_back(sent.vertex);
        return;
      }
    }
    ops.push_back(std::move(o));
  };
  for (std::size_t i = 2 + below(6); i; --i) vertex(p.ops, everywhere);
  for (std::size_t loops = below(3); loops; --loops) {
    std::vector<op> body;
    std::vector<std::uint64_t> known = everywhere;
    const std::uint64_t before = last;
    for (std::size_t i = 1 + below(5); i; --i) vertex(body, known);
    for (std::size_t round = 1 + below(4); round; --round) {
      p.ops.insert(p.ops.end(), body.begin(), body.end());
      std::vector<std::uint64_t> made;
      for (const op& o : body)
        if (o.what != op::kind::take && o.vertex > before) made.push_back(o.vertex);
      std::shuffle(made.begin(), made.end(), random);
      p.ops.push_back({op::kind::release, {}, 0, made});
    }
  }
  for (std::size_t i = 1 + below(2); i; --i) vertex(p.ops, everywhere);
  if (everywhere.empty()) return random_plan(random);
  p.ops.push_back({op::kind::fold, {}, ++last, {everywhere[below(everywhere.size())]}});
  if (below(5) == 0) {
    p.fails_vertex = 1 + below(last);
    for (std::uint32_t q = 0; q < p.partitions; ++q)
      if (below(2)) p.fails_in.push_back(q);
  }
  return p;
}

}  // namespace query::tests::simulated
