// What engines expect of one vertex or fold, and whether dividing its rows among them pays.
//
// Engines say what a vertex would cost them as part of their verdict; a vertex that the best of them would run alone is divided
// where all together are expected to be a tenth faster. The shares say with what each begins (shared_rows.hpp).
//
//   const auto d = divide(std::array{gpu_costs}, threads);      // d->shares: {0.61, 0.39}, the CPU's last
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace query::runtime {

struct part_cost {
  double start = 0;     // seconds, however few the rows
  double all_rows = 0;  // seconds more for all of them
  double alone() const { return start + all_rows; }
};
// Of one engine, beside the CPU of the same session.
struct part_costs {
  std::string on;           // what it runs on: "NVIDIA H200"
  part_cost here;           // by this engine
  part_cost cpu;            // by the CPU engine, with all threads of the session
  double host_threads = 0;  // of the session that this engine keeps busy, to be as fast as it says
  double host_memory = 0;   // seconds in which the host's memory gives all the rows: no number of engines needs less
  double merge = 0;         // seconds to put the parts' results together
  double hindrance = 0;     // part of their common time that this engine and the CPU lose to each other
};

// Sums add up fixed parts of a source in their order (docs/design/003); engines share a source by these parts.
inline constexpr std::uint64_t rows_of_fixed_part = 1 << 16;
// How much less time all engines together must need than the best of them alone. What is expected of them is off by more, but each takes
// rows as fast as it really is: where one is slow, the other does most of them.
inline constexpr double least_gain = 0.1;

struct row_span {
  std::uint64_t first = 0, end = 0;
  std::uint64_t size() const { return end - first; }
  bool operator==(const row_span&) const = default;
};

// The same where the engine, or the CPU, was seen to take so many seconds for all rows.
part_cost as_seen(part_cost expected, std::optional<double> seconds);

// Shares of a vertex; the CPU's is the last.
struct division {
  std::vector<double> shares;   // of the rows, one for each engine and the CPU; together 1
  std::vector<int> threads;     // of the session that each works with
  double seconds = 0;           // of all together
  std::vector<double> alone;    // of each by itself
};

// Nothing where one alone is expected to be about as fast, or where there is one thread only. `seen`: seconds that it took when it was
// divided, which say more than what is expected of that: then it is enough that these are less.
std::optional<division> divide(std::span<const part_costs> engines, int threads, std::optional<double> seen = {});

std::string shown_seconds(double s);  // "850 us", "1.2 ms", "12 ms", "3.4 s"

}  // namespace query::runtime
