// Loops on the GPU: k-means of four shapes, as they were measured with PyTorch and Triton (bench/results), PageRank, and what a small query
// costs. The centre that each point goes to is compared with plain fp32's, of all points (gpu_loops/nearest_labels.hpp).
// A round's time is the slope between a short and a long loop, so that the first round, which prepares, is not in it.
//
//   gpu_loops [largest] [kmeans] [peers=FILE] [cpu]
//     largest: the last shape of k-means too; kmeans: nothing else; peers=FILE: what others took in the same run
//     (gpu_loops/peer_figures.hpp); cpu: a rehearsal of few points without a GPU, whose times mean nothing
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>

#include <query/query.hpp>

#include "gpu_loops/nearest_labels.hpp"
#include "gpu_loops/peer_figures.hpp"
#include "timing.hpp"

namespace {

template <int D> struct Point {
  std::array<float, D> x;
};
template <int D> struct Centre {
  std::int64_t id;
  std::array<float, D> x;
};
using Point20 = Point<20>;
using Point40 = Point<40>;
using Point16 = Point<16>;
using Point128 = Point<128>;
using Centre20 = Centre<20>;
using Centre40 = Centre<40>;
using Centre16 = Centre<16>;
using Centre128 = Centre<128>;
QUERY_RECORD(Point20, x);
QUERY_RECORD(Point40, x);
QUERY_RECORD(Point16, x);
QUERY_RECORD(Point128, x);
QUERY_RECORD(Centre20, id, x);
QUERY_RECORD(Centre40, id, x);
QUERY_RECORD(Centre16, id, x);
QUERY_RECORD(Centre128, id, x);

struct Edge {
  std::uint32_t from, to;
  double share;  // one over the edges that leave `from`
};
QUERY_RECORD(Edge, from, to, share);
struct Rank {
  std::uint32_t id;
  double value;
};
QUERY_RECORD(Rank, id, value);

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
template <class F> double best_of(int n, F f) {
  double best = 1e9;
  for (int i = 0; i < n; ++i) {
    const double begin = seconds();
    f();
    best = std::min(best, seconds() - begin);
  }
  return best;
}

template <int D, class Q> auto kmeans(const Q& points, const std::vector<Centre<D>>& start, int rounds) {
  return query::from(start).as_accelerated().do_while(
      [&](query::Query<Centre<D>> now) {
        const auto c = query::broadcast(now);
        return points
            .select([c](auto p) { return std::pair(c.arg_min(p, [](auto p, auto e) { return query::squared_distance(p.x, e.x); }), p.x); })
            .group_by([](auto a) { return a.first; })
            .select([](auto g) { return query::make<Centre<D>>(g.key(), g.mean([](auto a) { return a.second; })); });
      },
      query::times(rounds));
}

struct options {
  bench::peer_figures peers;
  bool rehearsal = false;
  bool wrong = false;
};

// The labels of a query over `centres` against plain fp32's; and the round that starts there against the means that these labels make.
template <int D, class Q>
bool labels_are_right(const std::vector<Point<D>>& points, const Q& there, const std::vector<Centre<D>>& centres) {
  const auto c = query::broadcast(centres);
  const auto labels =
      there.select([c](auto p) { return c.arg_min(p, [](auto p, auto e) { return query::squared_distance(p.x, e.x); }); }).to_vector();
  const double begin = seconds();
  const std::vector<bench::nearest_two> plain = bench::nearest_two_there<D>(points, centres);
  const double computed = seconds();
  const bench::label_check seen = bench::compare_labels<D>(points, centres, labels, plain);
  const double worst = bench::distance_from_means<D>(points, labels, centres.size(), kmeans<D>(there, centres, 1).to_vector());
  const bool right = seen.differ == seen.differ_near && seen.unlike_host == 0 && worst < 1e-3;
  std::printf("  labels: %zu of %zu rows compared with plain fp32 (%.1f s%s, and %zu rows on the host, %zu of them unlike: %.1f s): %zu "
              "differ, %zu of them near ties (%zu rows have one); the next round's centres are those labels' means within %g %s\n",
              seen.compared, points.size(), computed - begin, plain.empty() ? ": no GPU" : " on the device", seen.on_host, seen.unlike_host,
              seconds() - computed, seen.differ, seen.differ_near, seen.near, worst, right ? "ok" : "WRONG");
  return right;
}

template <int D> void kmeans_of(options& with, std::size_t n, int k, bool check, bool on_a_line = false) {
  const bench::peer_figure* peer = with.peers.of(n, D, k);
  if (with.rehearsal) n /= 100;
  // The peers' data: k bells of width 1 around centres that are 3 wide, each coordinate by itself; a bell is a sum of four bytes. Or all
  // bells on a line, a third of their distance wide, where many centres are nearly as far as the nearest.
  std::vector<Point<D>> points(n);
  std::uint64_t state = 88172645463325252ull;
  const auto next = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  };
  const auto bell = [](std::uint64_t bits) {
    const std::uint64_t sum = (bits & 0xff) + (bits >> 8 & 0xff) + (bits >> 16 & 0xff) + (bits >> 24 & 0xff);
    return (static_cast<float>(sum) - 510.0f) * (1.0f / 147.8f);
  };
  std::vector<Point<D>> middles(static_cast<std::size_t>(k));
  for (std::size_t i = 0; i < middles.size(); ++i)
    for (float& x : middles[i].x) x = on_a_line ? 5 * static_cast<float>(i) : 3 * bell(next());
  for (Point<D>& p : points) {
    const Point<D>& middle = middles[static_cast<std::size_t>(next() % static_cast<std::uint64_t>(k))];
    std::uint64_t bits = 0;
    for (std::size_t d = 0; d < D; ++d) {
      bits = d % 2 == 0 ? next() : bits >> 32;
      p.x[d] = middle.x[d] + bell(bits);
    }
  }
  std::vector<Centre<D>> start;
  for (int i = 0; i < k; ++i) start.push_back({i, points[static_cast<std::size_t>(i) * 17].x});
  const auto there = query::from(points).as_accelerated().cached();
  (void)there.count();
  if (check) {
    auto a = kmeans<D>(there, start, 5).to_vector(), b = kmeans<D>(query::from(points), start, 5).to_vector();
    // Groups come in any order, and a centre's number is its place in the round before.
    const auto less = [](const auto& x, const auto& y) { return x.x < y.x; };
    std::sort(a.begin(), a.end(), less);
    std::sort(b.begin(), b.end(), less);
    double worst = a.size() == b.size() ? 0 : INFINITY;
    for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
      for (std::size_t d = 0; d < D; ++d)
        worst = std::max(worst, std::abs(static_cast<double>(a[i].x[d]) - static_cast<double>(b[i].x[d])));
    // Sums are added in another order. On a line a row that is as near to two centres may go to either after that, and moves one by the
    // width of a bell over the rows that it has, of which some rows are let through.
    const double most = on_a_line ? 1e-2 : 1e-3;
    std::printf("  the CPU's centres after 5 rounds: %zu of %zu, largest difference %g %s\n", a.size(), b.size(), worst,
                worst < most ? "ok" : "WRONG");
    with.wrong |= !(worst < most);
  }
  with.wrong |= !labels_are_right<D>(points, there, kmeans<D>(there, start, 5).to_vector());
  std::fflush(stdout);
  const bool slow = static_cast<double>(n) * k * D > 1e11;
  (void)kmeans<D>(there, start, 4).to_vector();
  const int few = slow ? 4 : 10, many = slow ? 12 : n > 5000000 ? 40 : 110;
  const double shorter = best_of(slow ? 1 : 3, [&] { (void)kmeans<D>(there, start, few).to_vector(); });
  const double longer = best_of(slow ? 1 : 3, [&] { (void)kmeans<D>(there, start, many).to_vector(); });
  const double ms = (longer - shorter) / (many - few) * 1e3;
  std::printf("k-means %zu x %d, K %d%s: %.3f ms a round (%d rounds in all %.3f ms)", n, D, k, on_a_line ? " on a line" : "", ms, few,
              shorter * 1e3);
  const char* missed = peer && peer->ms <= ms ? "  MISSED" : "";
  if (peer) std::printf("; %.3f ms: %s; %.2f times as fast%s", peer->ms, peer->name.c_str(), peer->ms / ms, missed);
  std::printf("\n");
  std::fflush(stdout);
}

auto pagerank(const query::Query<Edge>& edges, const std::vector<Rank>& start, int rounds) {
  const double n = static_cast<double>(start.size());
  return query::from(start).as_accelerated().do_while(
      [&](query::Query<Rank> ranks) {
        return edges
            .join(
                ranks, [](auto e) { return e.from; }, [](auto r) { return r.id; },
                [](auto e, auto r) { return query::make<Rank>(e.to, r.value * e.share); })
            .group_by([](auto r) { return r.id; })
            .select([n](auto g) { return query::make<Rank>(g.key(), 0.15 / n + 0.85 * g.sum([](auto r) { return r.value; })); });
      },
      query::times(rounds));
}

void pageranks(std::uint32_t nodes, std::uint32_t edges_a_node) {
  std::mt19937 random(3);
  std::vector<Edge> edges;
  for (std::uint32_t i = 0; i < nodes; ++i)
    for (std::uint32_t j = 0; j < edges_a_node; ++j)
      edges.push_back({i, j == 0 ? (i + 1) % nodes : static_cast<std::uint32_t>(random() % nodes), 1.0 / edges_a_node});
  std::vector<Rank> start(nodes);
  for (std::uint32_t i = 0; i < nodes; ++i) start[i] = {i, 1.0 / nodes};
  const auto there = query::from(edges).as_accelerated().cached();
  (void)there.count();
  auto a = pagerank(there, start, 10).to_vector(), b = pagerank(query::from(edges), start, 10).to_vector();
  const auto less = [](const Rank& x, const Rank& y) { return x.id < y.id; };
  std::sort(a.begin(), a.end(), less);
  std::sort(b.begin(), b.end(), less);
  double worst = a.size() == b.size() ? 0 : INFINITY, sum = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    worst = std::max(worst, std::abs(a[i].value - b[i].value) / b[i].value);
    sum += a[i].value;
  }
  const double shorter = best_of(3, [&] { (void)pagerank(there, start, 10).to_vector(); });
  const double longer = best_of(3, [&] { (void)pagerank(there, start, 60).to_vector(); });
  std::printf("PageRank, %u nodes, %zu edges: %.3f ms a round (10 in all %.3f ms); sum %.6f, the CPU's differ by %g %s\n", nodes,
              edges.size(), (longer - shorter) / 50 * 1e3, shorter * 1e3, sum, worst, worst < 1e-9 ? "ok" : "WRONG");
  std::fflush(stdout);
}

void small_queries() {
  std::vector<Rank> rows(40000);
  for (std::uint32_t i = 0; i < rows.size(); ++i) rows[i] = {i % 100, static_cast<double>(i)};
  const auto there = query::from(rows).as_accelerated().cached();
  (void)there.count();
  const auto time = [](const char* what, auto f) {
    f();
    std::vector<double> ms;
    for (int i = 0; i < 200; ++i) ms.push_back(best_of(1, f) * 1e3);
    std::sort(ms.begin(), ms.end());
    std::printf("40,000 rows there, %s: median %.4f ms, best %.4f ms\n", what, ms[100], ms[0]);
  };
  time("where, select, sum", [&] {
    (void)there.where([](auto r) { return r.value > 5; }).select([](auto r) { return r.value * 2; }).sum();
  });
  time("where to_vector of few", [&] { (void)there.where([](auto r) { return r.value < 5; }).to_vector(); });
  time("group_by, 100 groups", [&] {
    (void)there.group_by([](auto r) { return r.id; })
        .select([](auto g) { return std::pair(g.key(), g.sum([](auto r) { return r.value; })); })
        .to_vector();
  });
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const auto given = [&](const char* word) { return std::find(argv + 1, argv + argc, std::string_view(word)) != argv + argc; };
  options with;
  with.rehearsal = given("cpu");
  if (const std::string missing = query::Session::standard().gpu_status(); !missing.empty() && !with.rehearsal) {
    std::printf("left out: no GPU: %s\n", missing.c_str());
    return 0;
  }
  try {
    for (int i = 1; i < argc; ++i)
      if (const std::string_view a = argv[i]; a.starts_with("peers=")) with.peers = bench::peer_figures(std::string(a.substr(6)));
    if (!given("kmeans")) small_queries();
    kmeans_of<20>(with, 1000000, 10, true);
    kmeans_of<40>(with, 1000000, 80, true);
    kmeans_of<40>(with, 1000000, 80, true, true);
    if (!given("kmeans")) pageranks(with.rehearsal ? 10000 : 1000000, 8);
    kmeans_of<16>(with, 10000000, 64, false);
    if (given("largest")) kmeans_of<128>(with, 8000000, 1024, false);
  } catch (const std::exception& e) {
    std::printf("FAILED: %s\n", e.what());
    return 1;
  }
  return with.wrong ? 1 : 0;
}
