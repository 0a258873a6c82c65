// asof_join by 2 threads: trades and the quotes of their symbols before them; results are columns that the engine owns.
//
//   asof ROWS SYMBOLS FILE    writes the columns to FILE, for bench/asof/peers.py, and answers each question three times
//
// A line a question: milliseconds, processor milliseconds of all threads, and a sum by which answers are compared.
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "best_times.hpp"

namespace {

struct tick { std::int32_t symbol; std::int64_t time; double x; };
QUERY_RECORD(tick, symbol, time, x);
struct both { double left, sum; };
QUERY_RECORD(both, left, sum);

struct columns {
  std::vector<std::int32_t> symbol;
  std::vector<std::int64_t> time;
  std::vector<double> x;
};

}  // namespace

int main(int argc, char** argv) {
  const std::size_t rows = argc > 1 ? std::stoul(argv[1]) : 10'000'000, symbols = argc > 2 ? std::stoul(argv[2]) : 10'000;
  std::uint64_t s = 88172645463325252u;
  const auto next = [&] {
    s ^= s << 13;
    s ^= s >> 7;
    return s ^= s << 17;
  };
  // In the order of their times, which no two quotes share.
  const auto events = [&](std::int64_t first) {
    columns c;
    std::int64_t time = first;
    for (std::size_t i = 0; i < rows; ++i) {
      c.symbol.push_back(static_cast<std::int32_t>(next() % symbols));
      c.time.push_back(time += 2 + 2 * static_cast<std::int64_t>(next() % 1000));
      c.x.push_back(static_cast<double>(next() % 10'000) / 16);
    }
    return c;
  };
  const columns trades = events(1), quotes = events(0);
  if (argc > 3) {
    std::ofstream file(argv[3], std::ios::binary);
    const auto write = [&](const auto& column) {
      file.write(reinterpret_cast<const char*>(column.data()), static_cast<std::streamsize>(rows * sizeof column[0]));
    };
    for (const columns* c : {&trades, &quotes}) write(c->symbol), write(c->time), write(c->x);
  }
  const query::Session session({.threads = 2, .gpu = query::gpu_use::off});
  const auto left = query::from(query::columns<tick>(trades.symbol, trades.time, trades.x)).in(session);
  const auto right = query::from(query::columns<tick>(quotes.symbol, quotes.time, quotes.x)).in(session);
  const auto symbol = [](auto t) { return t.symbol; };
  const auto time = [](auto t) { return t.time; };
  const auto prices = [](auto t, auto q) { return query::make<both>(t.x, query::iff(q.has_value(), q->x, 0.0)); };
  bench::answer("before, by symbol", left.asof_join(right, symbol, symbol, time, time, prices));
  bench::answer("after, by symbol", left.asof_join(right, symbol, symbol, time, time, prices, {.direction = query::nearest::forward}));
  bench::answer("before, no key", left.asof_join(right, time, time, prices));
}
