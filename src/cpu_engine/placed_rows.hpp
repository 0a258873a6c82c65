// Rows side by side by partition, in source order in each: a counting sort by the number of their partition.
//
//   placed_rows placed = place_by_number(rows.n, parts, tasks, [&](std::size_t first, std::size_t k, std::uint64_t* number) { ... });
//   detail::table t = runtime::with_bounds(take_rows_by_id(rows, placed.order, tasks), std::move(placed.ends));
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "cpu_engine/permutation.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

struct placed_rows {
  permutation order;
  std::vector<std::size_t> ends;  // of partitions
};

// find(first, k, number): the partitions of at most batch_rows rows, side by side with others.
template <class Find> placed_rows place_by_number(std::size_t n, std::size_t parts, const vertex_tasks& tasks, const Find& find) {
  const runtime::buffer memory = tasks.pool().allocate_array<std::uint64_t>(n);
  std::uint64_t* const number = memory.as<std::uint64_t>();
  std::vector<std::size_t> at(chunks_of(n) * parts);  // [chunk][partition]: rows, then the place of the next one
  tasks.chunks(n, [&](std::size_t first, std::size_t k) {
    std::size_t* const count = at.data() + first / part_rows * parts;
    for (std::size_t i = first; i < first + k; i += batch_rows) {
      tasks.cancel().check();
      const std::size_t some = std::min(batch_rows, first + k - i);
      find(i, some, number + i);
      for (std::size_t r = i; r < i + some; ++r) ++count[number[r]];
    }
  });
  placed_rows placed{permutation(n, n, tasks.pool()), {}};
  std::size_t sum = 0;
  for (std::size_t p = 0; p < parts; ++p) {
    for (std::size_t c = 0; c < chunks_of(n); ++c) sum += std::exchange(at[c * parts + p], sum);
    placed.ends.push_back(sum);
  }
  tasks.chunks(n, [&](std::size_t first, std::size_t k) {
    std::size_t* const next = at.data() + first / part_rows * parts;
    for (std::size_t i = first; i < first + k; ++i) placed.order.set(next[number[i]]++, i);
  });
  return placed;
}

}  // namespace query::cpu
