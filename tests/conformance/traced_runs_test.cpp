// chunk and window with functions that trace, on every engine.
#include <span>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"
#include "conformance/rows.hpp"
#include "planned_there.hpp"

namespace conformance {
namespace {

template <class Q> auto rows_of(const engine_config& e, const Q& q) {
  const std::string plan = q.explain();
  EXPECT_EQ(plan.find("opaque"), std::string::npos) << plan;
  if (e.accelerate) {
    EXPECT_TRUE(planned_there(plan));
  }
  return q.to_vector();
}

using row = std::tuple<std::int32_t, std::int32_t, std::uint64_t, double, std::int64_t>;
constexpr auto summed = [](auto run) {
  return std::make_tuple(run.front().id, run.back().key, query::cast<std::uint64_t>(run.size()),
                         query::sum(run, [](auto t) { return t.price; }), query::max(run, [](auto t) { return t.amount; }));
};
row summary(std::span<const tick> run) {
  row r{run.front().id, run.back().key, run.size(), 0, run.front().amount};
  for (const tick& t : run) {
    std::get<3>(r) += t.price;
    std::get<4>(r) = std::max(std::get<4>(r), t.amount);
  }
  return r;
}
template <class T> std::vector<std::span<const T>> runs_of(const std::vector<T>& rows, std::size_t n, std::size_t step, bool short_end) {
  std::vector<std::span<const T>> runs;
  for (std::size_t i = 0; i < rows.size() && (short_end || i + n <= rows.size()); i += step)
    runs.push_back(std::span<const T>(rows).subspan(i, std::min(n, rows.size() - i)));
  return runs;
}

CONFORMS(traced_runs, of_chunks_and_windows, "chunk", "window") {
  for (const auto& d : small_ticks()) {
    SCOPED_TRACE(d.name);
    for (const std::size_t n : {1u, 3u, 64u}) {
      std::vector<row> chunks, windows, steps;
      for (const auto run : runs_of(d.rows, n, n, true)) chunks.push_back(summary(run));
      for (const auto run : runs_of(d.rows, n, 1, false)) windows.push_back(summary(run));
      for (const auto run : runs_of(d.rows, n, 5, false)) steps.push_back(summary(run));
      const auto q = source(e, d.rows);
      EXPECT_ROWS(rows_of(e, q.chunk(n, summed)), chunks);
      EXPECT_ROWS(rows_of(e, q.window(n, summed)), windows);
      EXPECT_ROWS(rows_of(e, q.window(n, summed, 5)), steps);
    }
  }
}

CONFORMS(traced_runs, of_filtered_rows_and_before_other_verbs, "chunk", "window", "where") {
  const auto& rows = many_ticks();
  std::vector<tick> some;
  for (const tick& t : rows)
    if (t.amount > 0) some.push_back(t);
  std::vector<double> wanted;
  double all = 0;
  for (const auto run : runs_of(some, 10, 1, false)) {
    double sum = 0;
    for (const tick& t : run) sum += t.price;
    all += sum;
    if (sum > 100) wanted.push_back(sum);
  }
  const auto sums = source(e, rows).where([](auto t) { return t.amount > 0; }).window(10, [](auto run) {
    return query::sum(run, [](auto t) { return t.price; });
  });
  EXPECT_ROWS(rows_of(e, sums.where([](auto s) { return s > 100; })), wanted);
  EXPECT_NEAR(sums.sum(), all, 1e-6 * std::max(1.0, all));
}

CONFORMS(traced_runs, of_rows_with_strings, "chunk") {
  const auto& rows = few_trades();
  std::vector<std::pair<std::string, std::int64_t>> wanted;
  for (const auto run : runs_of(rows, 7, 7, true)) {
    std::int64_t hot = 0;
    for (const trade& t : run) hot += t.hot && t.name == run.front().name ? t.amount % 1000 : 0;
    wanted.emplace_back(run.back().name, hot);
  }
  const auto q = source(e, rows).chunk(7, [](auto run) {
    const auto first = run.front();
    return std::make_pair(run.back().name, query::fold(run, query::value_t<std::int64_t, decltype(first)>(0), [&](auto sum, auto t) {
                            return sum + query::iff(t.hot && t.name == first.name, t.amount % 1000, std::int64_t{0});
                          }));
  });
  EXPECT_ROWS(rows_of(e, q), wanted);
}

}  // namespace
}  // namespace conformance
