// Which rows of a table a sample takes: 16 runs of 64, evenly spaced, the first and the last rows among them. What a function does
// to rows like those at the beginning says nothing about the rows behind them.
//
//   for_each_run(n, 0, [&](std::size_t first, std::size_t count) { ... });   // all rows, where there are no more than a sample has
//
// Where a filter leaves nothing of them, further rounds take the rows next to them. All rounds together see every row of a table of up to
// 65,000 rows, and about as many of a larger one.
#pragma once

#include <cstddef>

namespace query::cpu::verify {

inline constexpr std::size_t run_rows = 64, sample_runs = 16, most_rounds = 64;
// How many rows a branch is sampled by.
inline constexpr std::size_t sample_rows = run_rows * sample_runs;

inline bool has_round(std::size_t n, std::size_t round) {
  return round == 0 || (n > sample_rows && round < most_rounds && round * run_rows < n - (sample_runs - 1) * (n / sample_runs));
}

// run(first, count)
template <class Run> void for_each_run(std::size_t n, std::size_t round, Run run) {
  if (n <= sample_rows) {
    if (round == 0 && n) run(std::size_t{0}, n);
    return;
  }
  const std::size_t apart = n / sample_runs;
  for (std::size_t i = 0; i < sample_runs; ++i) {
    // The last run goes backwards from the end.
    run(i + 1 < sample_runs ? i * apart + round * run_rows : n - (round + 1) * run_rows, run_rows);
  }
}

}  // namespace query::cpu::verify
