#include <algorithm>
#include <cstring>

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
std::vector<std::byte> bytes_of(const rows& all) {
  std::vector<std::byte> bytes(all.size() * sizeof(std::uint64_t));
  if (!all.empty()) std::memcpy(bytes.data(), all.data(), bytes.size());
  return bytes;
}
rows rows_of(const std::vector<std::byte>& bytes) {
  rows all(bytes.size() / sizeof(std::uint64_t));
  if (!all.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}
rows differing(rows all, std::uint32_t attempt) {
  if (attempt % 3 == 0) all.push_back(attempt);
  else
    for (std::uint64_t& x : all) x += 60 * attempt;  // in the same bucket by hash
  return all;
}
std::vector<rows> buckets(op::way moves, const rows& all, std::uint32_t partitions, const rows& told) {
  if (moves == op::way::gather || moves == op::way::broadcast) return {all};
  std::vector<rows> apart(partitions);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint64_t x = all[i];
    std::uint64_t to = x % partitions;
    if (moves == op::way::range) to = static_cast<std::uint64_t>(std::upper_bound(told.begin(), told.end(), x) - told.begin());
    else if (moves == op::way::spread && x % 3)
      to = std::min((told.at(0) + i) * partitions / std::max<std::uint64_t>(told.at(1), 1), partitions - std::uint64_t{1});
    apart[to].push_back(x);
  }
  return apart;
}
std::vector<rows> pieces(const rows& all) {
  constexpr std::size_t most = 3;
  std::vector<rows> apart(1);
  for (const std::uint64_t x : all) {
    if (apart.back().size() == most) apart.emplace_back();
    apart.back().push_back(x);
  }
  return apart;
}
std::uint64_t share_of(std::uint64_t rows) { return (rows + 2) / 3; }
rows begins_of_ranges(std::vector<rows> samples, std::uint32_t partitions) {
  rows all, begins;
  for (const rows& s : samples) all.insert(all.end(), s.begin(), s.end());
  std::sort(all.begin(), all.end());
  for (std::uint32_t p = 1; p < partitions && !all.empty(); ++p) begins.push_back(all[all.size() * p / partitions]);
  return begins;
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
        if (const auto way = below(6); way < 3) o.moves = way == 0 ? op::way::broadcast : way == 1 ? op::way::range : op::way::spread;
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
  for (std::size_t loops = everywhere.empty() ? 0 : below(3); loops; --loops) {
    const std::uint64_t variable = ++last;
    p.variables.insert(variable);
    p.ops.push_back({op::kind::begin_loop, {}, variable, {everywhere[below(everywhere.size())]}});
    std::vector<op> body;
    std::vector<std::uint64_t> known = everywhere, made;
    known.push_back(variable);
    const std::uint64_t before = last;
    for (std::size_t i = 1 + below(5); i; --i) vertex(body, known);
    for (const op& o : body)
      if (o.what != op::kind::take && o.vertex > before) made.push_back(o.vertex);
    const std::vector<std::uint64_t> gives{known[below(known.size())], known.back()};
    for (std::size_t round = 1 + below(6); round; --round) {
      p.ops.insert(p.ops.end(), body.begin(), body.end());
      p.ops.push_back({op::kind::next_round, {}, variable, gives});
      std::shuffle(made.begin(), made.end(), random);
      p.ops.push_back({op::kind::release, {}, 0, made});
      p.ops.push_back({op::kind::forget_previous, {}, variable, {}});
      if (below(3) == 0) p.ops.push_back({op::kind::save, {}, variable, {}});
    }
    p.ops.push_back({op::kind::end_loop, {}, variable, {}});
  }
  for (std::size_t i = 1 + below(2); i; --i) vertex(p.ops, everywhere);
  if (everywhere.empty()) return random_plan(random);
  if (below(2)) p.ops.push_back({op::kind::hand_on, op::way::gather, ++last, {everywhere[below(everywhere.size())]}});
  if (below(2)) p.ops.push_back({op::kind::write, {}, ++last, {everywhere[below(everywhere.size())]}});
  p.ops.push_back({op::kind::fold, {}, ++last, {everywhere[below(everywhere.size())]}});
  if (below(5) == 0) {
    p.fails_vertex = 1 + below(last);
    for (std::uint32_t q = 0; q < p.partitions; ++q)
      if (below(2)) p.fails_in.push_back(q);
  }
  if (below(6) == 0) p.differs_vertex = 1 + below(last);
  p.pulls_fail = below(12) == 0;
  return p;
}

expectation reference(const plan& of) {
  expectation r;
  std::map<std::uint64_t, std::vector<rows>> tables;
  std::map<std::uint64_t, std::uint64_t> taken;
  for (const op& o : of.ops) {
    const std::uint32_t senders = o.from_leader ? 1 : of.partitions;
    if (o.vertex == of.fails_vertex && (o.what <= op::kind::fold || o.what == op::kind::begin_loop || o.what == op::kind::next_round))
      for (const std::uint32_t p : of.fails_in)
        if (p < senders) {
          r.fails = {o.vertex, p};
          return r;
        }
    const auto made = [&](std::uint32_t p) {
      if (o.from_leader) return of_leader(o.vertex, taken.at(o.reads[0]));
      std::vector<const rows*> all;
      for (const std::uint64_t v : o.reads) all.push_back(&tables.at(v).at(p));
      return computed(o.vertex, all);
    };
    switch (o.what) {
      case op::kind::run: {
        std::vector<rows> all(of.partitions);
        for (std::uint32_t p = 0; p < of.partitions; ++p) all[p] = o.reads.empty() ? source_rows(o.vertex, p) : made(p);
        tables[o.vertex] = std::move(all);
        break;
      }
      case op::kind::exchange: {
        std::vector<rows> received(of.partitions), samples;
        for (std::uint32_t p = 0; o.moves == op::way::range && p < senders; ++p) {
          samples.push_back(made(p));
          samples.back().resize(share_of(samples.back().size()));
        }
        rows told = begins_of_ranges(samples, of.partitions);
        if (o.moves == op::way::spread) {
          told = {0, 0};
          for (std::uint32_t p = 0; p < senders; ++p) told[1] += made(p).size();
        }
        for (std::uint32_t p = 0; p < senders; ++p) {
          const auto apart = buckets(o.moves, made(p), of.partitions, told);
          if (o.moves == op::way::spread) told[0] += made(p).size();
          for (std::uint32_t q = 0; q < of.partitions; ++q) {
            const rows& b = apart[apart.size() == 1 ? 0 : q];
            received[q].insert(received[q].end(), b.begin(), b.end());
          }
        }
        tables[o.vertex] = std::move(received);
        break;
      }
      case op::kind::hand_on:
      case op::kind::write: {
        rows all;
        for (std::uint32_t p = 0; p < of.partitions; ++p) {
          const rows part = made(p);
          all.insert(all.end(), part.begin(), part.end());
        }
        r.answer = r.answer * 31 + sum(all);
        break;
      }
      case op::kind::begin_loop:
      case op::kind::next_round: {
        std::vector<rows> all;
        for (std::uint32_t p = 0; p < of.partitions; ++p) all.push_back(made(p));
        tables[o.vertex] = std::move(all);
        break;
      }
      case op::kind::end_loop: {
        rows all;
        for (const rows& part : tables.at(o.vertex)) all.insert(all.end(), part.begin(), part.end());
        r.answer = r.answer * 31 + sum(all);
        break;
      }
      case op::kind::forget_previous:
      case op::kind::save: break;
      case op::kind::take: taken[o.vertex] = sum(tables.at(o.vertex)[0]); break;
      case op::kind::fold:
        for (std::uint32_t p = 0; p < of.partitions; ++p) r.answer = r.answer * 31 + sum(made(p));
        break;
      case op::kind::release: break;
    }
  }
  return r;
}

}  // namespace query::tests::simulated
