// Is the choice of the cost model the faster engine? Queries and loops at three sizes each: on the CPU, on the GPU, and where the model
// puts them. The last column is the time of the choice over that of the better of the two; 1.00 is right. "First" is the first run of a
// query, whose kernels are not compiled where the folder of kernels is new: there the model charges for compiling, and the better
// of the two engines pays for it.
//
//   gpu_placement [rows of the largest size] [first]      33,554,432 by default; `first`: first runs, of the middle size only
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "gpu_rows.hpp"

namespace {

using bench::make_rows;
using bench::Row;
using bench::Side;

using rows_query = query::Query<Row>;
const std::vector<Side> sides = [] {
  std::vector<Side> s(100000);
  for (std::uint32_t i = 0; i < s.size(); ++i) s[i] = {i, static_cast<float>(i)};
  return s;
}();

double where_sum(const rows_query& q) {
  return q.where([](auto r) { return r.value > 1e6; }).select([](auto r) { return r.value * 0.5 + 1.0; }).sum();
}
double costly_sum(const rows_query& q) {
  return q
      .select(
          [](auto r) { return query::exp(query::sin(r.value) * query::cos(r.value)) + query::sqrt(r.value) * query::log(r.value + 1.0); })
      .sum();
}
auto tenth_of(const rows_query& q) {
  return q.where([](auto r) { return r.weight > 900.0f; }).select([](auto r) { return r.value; });
}
double where_rows(const rows_query& q) { return static_cast<double>(tenth_of(q).to_vector().size()); }
template <std::uint32_t Groups> auto groups_of(const rows_query& q) {
  return q.group_by([](auto r) { return r.key % Groups; }).select([](auto g) {
    return std::pair(g.key(), g.sum([](auto r) { return r.value; }));
  });
}
template <std::uint32_t Groups> double groups(const rows_query& q) {
  return static_cast<double>(groups_of<Groups>(q).to_vector().size());
}
double sorted(const rows_query& q) {
  return q.order_by([](auto r) { return r.value; }).to_vector().back().value;
}
double largest(const rows_query& q) {
  return q.order_by_descending([](auto r) { return r.value; }).take(10).to_vector().back().value;
}
double joined(const rows_query& q) {
  return q
      .join(
          query::from(sides), [](auto r) { return r.key % 200000u; }, [](auto s) { return s.id; },
          [](auto r, auto s) { return r.weight * s.rate; })
      .sum();
}
double distinct_keys(const rows_query& q) {
  return static_cast<double>(q.distinct_by([](auto r) { return r.key % 1000000u; }).count());
}

double joined_rows(const rows_query& q) {
  return static_cast<double>(q.left_join(
                                  query::from(sides), [](auto r) { return r.key % 200000u; }, [](auto s) { return s.id; },
                                  [](auto r, auto s) { return std::pair(r.value, s.has_value()); })
                                 .to_vector()
                                 .size());
}

double half_of_rows(const rows_query& q) {
  return static_cast<double>(q.where([](auto r) { return r.weight > 500.0f; }).to_vector().size());
}
double five_aggregates(const rows_query& q) {
  return static_cast<double>(q.group_by([](auto r) { return r.key % 1000u; })
                                 .select([](auto g) {
                                   const auto value = [](auto r) { return r.value; };
                                   return std::tuple(g.key(), g.count(), g.sum(value), g.mean(value), g.min(value), g.max(value));
                                 })
                                 .to_vector()
                                 .size());
}
double medians(const rows_query& q) {
  return static_cast<double>(q.group_by([](auto r) { return r.key % 1000u; })
                                 .select([](auto g) { return std::pair(g.key(), g.median([](auto r) { return r.value; })); })
                                 .to_vector()
                                 .size());
}
// Four rows of the sides for each key.
double joined_often(const rows_query& q) {
  return q
      .join(
          query::from(sides), [](auto r) { return r.key % 50000u; }, [](auto s) { return s.id % 25000u; },
          [](auto r, auto s) { return r.weight * s.rate; })
      .sum();
}
double intersection(const rows_query& q) {
  return static_cast<double>(q.select([](auto r) { return r.key % 200000u; })
                                 .intersect(query::from(sides).select([](auto s) { return s.id; }))
                                 .count());
}

// Where a query may run: on the host's threads, on the GPU, or as the model says.
enum class mode { cpu, gpu, chosen };
struct sessions {
  query::Session forced{{.gpu_min_rows = 0}}, choosing;
};
template <class T> query::Query<T> placed(query::Query<T> q, mode m, const sessions& s) {
  if (m == mode::cpu) return q.in(s.choosing);
  return q.as_accelerated().in(m == mode::gpu ? s.forced : s.choosing);
}

using point = std::array<float, 16>;
struct Point {
  point x;
};
QUERY_RECORD(Point, x);
struct Center {
  std::int64_t id;
  point x;
};
QUERY_RECORD(Center, id, x);
struct Edge {
  std::uint32_t from, to;
  double share;
};
QUERY_RECORD(Edge, from, to, share);
struct Rank {
  std::uint32_t id;
  double value;
};
QUERY_RECORD(Rank, id, value);

std::vector<Point> make_points(std::size_t n) {
  std::vector<Point> points(n);
  std::uint64_t state = 362436069;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t d = 0; d < 16; ++d) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      points[i].x[d] = static_cast<float>((i % 64) >> d % 6 & 1) + static_cast<float>(state >> 40) / static_cast<float>(1 << 24);
    }
  return points;
}
std::vector<Center> first_centers(const std::vector<Point>& points) {
  std::vector<Center> c;
  for (std::int64_t i = 0; i < 64; ++i) c.push_back({i, points[static_cast<std::size_t>(i)].x});
  return c;
}
constexpr auto distance = [](auto p, auto c) { return query::squared_distance(p.x, c.x); };

// What is looked for among 64 centers, once; and k-means of ten rounds with them.
double nearest_sum(const query::Query<Point>& points, const std::vector<Center>& centers) {
  const auto c = query::broadcast(centers);
  return static_cast<double>(points.select([c](auto p) { return c.arg_min(p, distance); }).sum());
}
double kmeans(const query::Query<Point>& points, const query::Query<Center>& first) {
  return first
      .do_while(
          [points](query::Query<Center> now) {
            const auto c = query::broadcast(now);
            return points.group_by([c](auto p) { return c.arg_min(p, distance); }).select([](auto g) {
              return query::make<Center>(g.key(), g.mean([](auto p) { return p.x; }));
            });
          },
          query::times(10))
      .to_vector()
      .front()
      .x[0];
}
double pagerank(const query::Query<Edge>& edges, const query::Query<Rank>& start, double n) {
  return start
      .do_while(
          [edges, n](query::Query<Rank> ranks) {
            return edges
                .join(
                    ranks, [](auto e) { return e.from; }, [](auto r) { return r.id; },
                    [](auto e, auto r) { return query::make<Rank>(e.to, r.value * e.share); })
                .group_by([](auto r) { return r.id; })
                .select([n](auto g) { return query::make<Rank>(g.key(), 0.15 / n + 0.85 * g.sum([](auto r) { return r.value; })); });
          },
          query::times(10))
      .to_vector()
      .front()
      .value;
}

struct contest {
  const char* name;
  double (*run)(const rows_query&);
};
constexpr contest contests[] = {{"where, select, sum", where_sum},
                                {"sum of costly functions", costly_sum},
                                {"where, select, rows", where_rows},
                                {"group_by, 100 groups", groups<100>},
                                {"group_by, 2,000,000 groups", groups<2000000>},
                                {"order_by, rows", sorted},
                                {"order_by, the first ten", largest},
                                {"join, sum", joined},
                                {"left_join, rows", joined_rows},
                                {"distinct_by, count", distinct_keys},
                                {"where, half of the rows", half_of_rows},
                                {"group_by, five aggregates", five_aggregates},
                                {"group_by, medians", medians},
                                {"join of repeated keys, sum", joined_often},
                                {"intersect, count", intersection}};

double seconds_of(const std::function<double()>& f) {
  const auto begin = std::chrono::steady_clock::now();
  (void)f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}
// The least of at most `rounds` runs of each, in turn, after two to warm up (the first may compile kernels, which tells nothing of how long
// a run takes): what else the host does meets all of them alike. Every other round goes backwards, as threads sleep and caches are cold
// behind the GPU's run. Short ones run more often: their time is soon that of one interruption, and a session tries the CPU in up to twelve
// runs of what takes less than 20 ms.
std::array<double, 3> best_of(int rounds, const std::array<std::function<double()>, 3>& all) {
  std::array<double, 3> best{};
  for (std::size_t i = 0; i < all.size(); ++i) best[i] = seconds_of(all[i]);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (best[i] < 2) best[i] = seconds_of(all[i]);
  const double slowest = *std::max_element(best.begin(), best.end());
  if (slowest < 60e-3) rounds = slowest < 5e-3 ? 60 : 24;
  std::array<double, 3> least{1e30, 1e30, 1e30};
  for (int round = 0; round < rounds; ++round)
    for (std::size_t k = 0; k < all.size(); ++k) {
      const std::size_t i = round % 2 ? all.size() - 1 - k : k;
      if (round == 0 || best[i] < 2) least[i] = std::min(least[i], best[i] < 2 ? seconds_of(all[i]) : best[i]);
    }
  return least;
}

class table {
 public:
  table(const sessions& s, bool first) : sessions_(s), first_(first) {}

  // `run` gives the figure of the query as it is placed.
  void line(const std::string& name, int rounds, const std::function<double(mode)>& run) {
    double chosen = 0, cpu = 0, gpu = 0;
    if (first_) {  // the others after it: it finds nothing compiled
      (void)run(mode::cpu);  // wakes threads, touches memory
      chosen = seconds_of([&] { return run(mode::chosen); });
      cpu = seconds_of([&] { return run(mode::cpu); });
      gpu = std::max(seconds_of([&] { return run(mode::gpu); }), 1e-9);
    } else {
      const auto [on_cpu, on_gpu, as_chosen] =
          best_of(rounds, {[&] { return run(mode::cpu); }, [&] { return run(mode::gpu); }, [&] { return run(mode::chosen); }});
      cpu = on_cpu, gpu = on_gpu, chosen = as_chosen;
    }
    // Where the choice compiled the kernels, the GPU after it did not have to.
    const double better = first_ && gpu < cpu && gpu < chosen ? std::min(cpu, chosen) : std::min(cpu, gpu);
    const double ratio = chosen / better;
    std::printf("  %-34s %10.3f %10.3f %10.3f   %5.2f%s\n", name.c_str(), cpu * 1e3, gpu * 1e3, chosen * 1e3, ratio,
                ratio > 1.2 ? "  <--" : "");
    worst_ = std::max(worst_, ratio);
    logs_ += std::log(std::max(ratio, 1.0));
    off_ += ratio > 1.2;
    ++n_;
    std::fflush(stdout);
  }
  void sum_up() const {
    std::printf("chosen / better, %s: %d cases, geometric mean %.3f, worst %.2f, more than 1.2: %d\n",
                first_ ? "first runs" : "kernels compiled", n_, std::exp(logs_ / std::max(n_, 1)), worst_, off_);
  }
  const sessions& where() const { return sessions_; }

 private:
  const sessions& sessions_;
  bool first_;
  double worst_ = 1, logs_ = 0;
  int n_ = 0, off_ = 0;
};

// What the plan says of costs.
void say(const char* name, const std::string& plan) {
  for (std::size_t at = 0; at < plan.size();) {
    const std::size_t end = std::min(plan.find('\n', at), plan.size());
    const std::string line = plan.substr(at, end - at);
    if (line.find(" here") != std::string::npos) {
      const std::size_t from = line.find_first_not_of(' '), gap = line.find("   ", from);
      const std::size_t why = line.find_first_not_of(' ', gap == std::string::npos ? from : gap);
      const std::string what = line.substr(from, std::min<std::size_t>(gap - from, 24));
      std::printf("    %s: %s: %s\n", name, what.c_str(), line.substr(why).c_str());
    }
    at = end + 1;
  }
}

void of_rows(table& t, std::size_t size, int rounds) {
  const std::vector<Row> rows = make_rows(size);
  for (const bool there : {false, true}) {
    const rows_query all = query::from(rows);
    std::printf("%zu rows of 16 bytes, %s: ms on the CPU, on the GPU, chosen; chosen / better\n", size,
                there ? "cached there" : "of the host");
    const auto cached = [&](mode m) {
      const rows_query q = placed(all, m, t.where());
      return there && m != mode::cpu ? rows_query(q.cached()) : q;
    };
    const rows_query cpu = cached(mode::cpu), gpu = cached(mode::gpu), open = cached(mode::chosen);
    for (const contest& c : contests)
      t.line(c.name, rounds, [&](mode m) { return c.run(m == mode::cpu ? cpu : m == mode::gpu ? gpu : open); });
    say("where, select, sum",
        open.where([](auto r) { return r.value > 1e6; }).select([](auto r) { return r.value * 0.5; }).explain("sum"));
    say("where, select, rows", tenth_of(open).explain());
    say("order_by", open.order_by([](auto r) { return r.value; }).explain());
    say("group_by, 100 groups", groups_of<100>(open).explain());
  }
}
void of_points(table& t, std::size_t size, int rounds) {
  const std::vector<Point> points = make_points(size);
  const std::vector<Center> first = first_centers(points);
  std::printf("%zu points of 16 floats, 64 centers\n", size);
  const query::Query<Point> all = query::from(points);
  t.line("nearest, sum", rounds, [&](mode m) { return nearest_sum(placed(all, m, t.where()), first); });
  const auto gpu = placed(all, mode::gpu, t.where()).cached(), open = placed(all, mode::chosen, t.where()).cached();
  const auto start = [&](mode m) { return placed(query::Query<Center>(query::from(first)), m, t.where()); };
  t.line("k-means, 10 rounds, host's points", rounds, [&](mode m) { return kmeans(placed(all, m, t.where()), start(m)); });
  t.line("k-means, 10 rounds, points there", rounds, [&](mode m) {
    return kmeans(m == mode::cpu ? all : query::Query<Point>(m == mode::gpu ? gpu : open), start(m));
  });
}
void of_edges(table& t, std::size_t nodes, int rounds) {
  std::vector<Edge> edges;
  std::uint64_t state = 12345;
  for (std::uint32_t i = 0; i < nodes; ++i)
    for (int j = 0; j < 8; ++j) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      edges.push_back({i, j == 0 ? (i + 1) % static_cast<std::uint32_t>(nodes) : static_cast<std::uint32_t>((state >> 33) % nodes), 0.125});
    }
  std::vector<Rank> ranks(nodes);
  for (std::uint32_t i = 0; i < nodes; ++i) ranks[i] = {i, 1.0 / static_cast<double>(nodes)};
  std::printf("%zu nodes, %zu edges of the host\n", nodes, edges.size());
  t.line("PageRank, 10 rounds", rounds, [&](mode m) {
    return pagerank(placed(query::Query<Edge>(query::from(edges)), m, t.where()),
                    placed(query::Query<Rank>(query::from(ranks)), m, t.where()), static_cast<double>(nodes));
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t most = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : std::size_t{1} << 25;
  const bool first = argc > 2 && std::strcmp(argv[2], "first") == 0;
  if (first) setenv("CUDA_CACHE_DISABLE", "1", 0);  // NVRTC keeps what it compiled in a folder of its own
  const sessions s;
  if (const std::string missing = s.forced.gpu_status(); !missing.empty()) {
    std::printf("left out: no GPU: %s\n", missing.c_str());
    return 0;
  }
  const std::vector<Row> few = make_rows(100000);
  const double calibrated = seconds_of([&] {
    return static_cast<double>(
        query::from(few).as_accelerated().in(s.choosing).select([](auto r) { return r.value; }).explain("sum").size());
  });
  std::printf("calibrated and planned in %.0f ms\n", calibrated * 1e3);
  table t(s, first);
  for (const std::size_t size : {most / 512, most / 16, most}) {
    if (first && size != most / 16) continue;
    const int rounds = size < 1000000 ? 9 : 3;
    of_rows(t, size, rounds);
    of_points(t, std::max<std::size_t>(size / 8, 64), rounds);
    of_edges(t, std::max<std::size_t>(size / 32, 64), rounds);
  }
  t.sum_up();
}
