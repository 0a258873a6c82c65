// Dataflows of one's own (query/dataflow.hpp): what a block costs from thread to thread, a round of a loop, a run; beside a plain loop.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include <query/dataflow.hpp>

namespace flow = query::dataflow;

constexpr std::int64_t rows = 1 << 22;

static void plain_loop(benchmark::State& state) {
  std::vector<std::int64_t> block(4096);
  for (auto _ : state) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < rows;) {
      for (std::int64_t& x : block) x = i++;
      benchmark::DoNotOptimize(block.data());
      for (const std::int64_t x : block) sum += x;
    }
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * rows);
}
BENCHMARK(plain_loop)->UseRealTime();

// Arguments: rows of a block, capacity of the edge.
static void two_vertices(benchmark::State& state) {
  flow::graph g({.rows_of_block = static_cast<std::size_t>(state.range(0))});
  const auto edge = g.edge_of<std::int64_t>("rows", static_cast<std::size_t>(state.range(1)));
  g.vertex("write", [](flow::output<std::int64_t>& out) {
    for (std::int64_t i = 0; i < rows; ++i) out.row(i);
  }, flow::writes(edge));
  g.vertex("sum", [](flow::input<std::int64_t>& in) {
    std::int64_t sum = 0;
    for (flow::block<std::int64_t> b; in.next(b);) {
      for (const std::int64_t x : b) sum += x;
    }
    benchmark::DoNotOptimize(sum);
  }, flow::reads(edge));
  flow::run_report last;
  for (auto _ : state) last = g.run();
  state.SetItemsProcessed(state.iterations() * rows);
  state.counters["blocks"] = static_cast<double>(last.edges[0].blocks);
  state.counters["made"] = static_cast<double>(last.blocks_made);
}
BENCHMARK(two_vertices)->ArgsProduct({{64, 4096, 65536}, {1, 4, 16}})->UseRealTime();

// A table of a million rows goes round.
static void loop_rounds(benchmark::State& state) {
  constexpr std::uint64_t rounds = 10'000;
  flow::graph g;
  const auto first = g.edge_of<int>("first");
  const auto back = g.back_edge_of<int>("back");
  g.vertex("table", [](flow::output<int>& out) { out.push(std::vector<int>(1'000'000)); }, flow::writes(first));
  g.vertex("loop", [](flow::input<int>& in, flow::output<int>& out) {
    flow::block<int> table;
    while (auto got = in.receive()) {
      if (got.has_rows()) {
        table = std::move(got.rows);
        ++table.writable()[0];
        continue;
      }
      if (got.is(flow::signal::end_iteration)) out.push(std::move(table));
      out.tell(got.what());
    }
  }, flow::iterates(flow::reads(first), back, rounds), flow::writes(back));
  for (auto _ : state) g.run();
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(rounds));
}
BENCHMARK(loop_rounds)->UseRealTime();

static void start_and_end(benchmark::State& state) {
  flow::graph g;
  const auto edge = g.edge_of<int>("none");
  g.vertex("write", [](flow::output<int>&) {}, flow::writes(edge));
  g.vertex("read", [](flow::input<int>& in) { (void)in.receive(); }, flow::reads(edge));
  for (auto _ : state) g.run();
}
BENCHMARK(start_and_end)->UseRealTime();

BENCHMARK_MAIN();
