// Windows over groups: neighbours, running totals, ranks and frames of 2 threads; results are columns that the engine owns.
//
//   windows ROWS GROUPS FILE    writes the columns to FILE, for bench/windows/peers.py, and answers four questions three times each
//
// A line a question: milliseconds, processor milliseconds of all threads, and a sum by which answers are compared.
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "best_times.hpp"

namespace {

struct tick { std::int32_t key, time; double x; };
QUERY_RECORD(tick, key, time, x);
struct several { double lag, sum; std::int64_t rank; double mean; };
QUERY_RECORD(several, lag, sum, rank, mean);
struct total { double sum; };
QUERY_RECORD(total, sum);

}  // namespace

int main(int argc, char** argv) {
  const std::size_t rows = argc > 1 ? std::stoul(argv[1]) : 10'000'000, groups = argc > 2 ? std::stoul(argv[2]) : 100'000;
  std::vector<std::int32_t> key(rows), time(rows);
  std::vector<double> x(rows);
  std::uint64_t s = 88172645463325252u;
  const auto next = [&] {
    s ^= s << 13;
    s ^= s >> 7;
    return s ^= s << 17;
  };
  for (std::size_t i = 0; i < rows; ++i) {
    key[i] = static_cast<std::int32_t>(next() % groups);
    time[i] = static_cast<std::int32_t>(next() % 100'000'000);
    x[i] = static_cast<double>(next() % 10'000) / 16;
  }
  if (argc > 3) {
    std::ofstream file(argv[3], std::ios::binary);
    const auto write = [&](const auto& column) {
      file.write(reinterpret_cast<const char*>(column.data()), static_cast<std::streamsize>(rows * sizeof column[0]));
    };
    write(key), write(time), write(x);
  }
  const query::Session session({.threads = 2, .gpu = query::gpu_use::off});
  const auto ticks = query::from(query::columns<tick>(key, time, x)).in(session);
  const auto at_key = [](auto t) { return t.key; };
  const auto at_time = [](auto t) { return t.time; };
  const auto value = [](auto t) { return t.x; };
  bench::answer("lag, sum, rank, mean of 7", ticks.over(at_key).order_by(at_time).select([value](auto, auto w) {
    return query::make<several>(w.lag(value, 1, 0.0), w.cum_sum(value), w.rank(), w.rolling(7).mean(value));
  }));
  const auto running = [value](auto, auto w) { return query::make<total>(w.cum_sum(value)); };
  bench::answer("running sum", ticks.over(at_key).order_by(at_time).select(running));
  bench::answer("sum of a range", ticks.over(at_key).order_by(at_time).select([value](auto, auto w) {
    return query::make<total>(w.range(-1'000'000, 0).sum(value));
  }));
  bench::answer("running sum, no key", ticks.over().order_by(at_time).select(running));
  bench::answer("sum of the group", ticks.over(at_key).select([value](auto, auto w) { return query::make<total>(w.sum(value)); }));
}
