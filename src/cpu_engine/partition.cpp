// hash_partitioned_by, range_partitioned_by, partitioned: rows side by side by partition (runtime/partition_bounds.hpp).
#include <query/cpu/typed_segment.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/stop.hpp>

#include "cpu_engine/key_column.hpp"
#include "cpu_engine/sort_rows.hpp"
#include "cpu_engine/table_verbs.hpp"
#include "planner/partitions.hpp"
#include "runtime/partition_bounds.hpp"

namespace query::cpu {

using planner::default_partitions;
using runtime::even_end;
using runtime::with_bounds;
using way = planner::partition_way;

namespace {

struct placed_rows {
  permutation order;
  std::vector<std::size_t> ends;
};

// Rows by the hash of their key, in source order in each partition: a counting sort by partition.
placed_rows by_hash(const planner::vertex& v, const detail::table& rows, std::size_t parts, const vertex_tasks& tasks) {
  const key_column keys(v.node->functions[0], v.interpreted, rows, tasks, key_column::layout::adjacent);
  const key_equality custom = equality_of(v.node->keys);
  const runtime::buffer memory = tasks.pool().allocate_array<std::uint64_t>(rows.n);
  std::uint64_t* number = memory.as<std::uint64_t>();
  std::vector<std::size_t> at(chunks_of(rows.n) * parts);  // [chunk][partition]: rows, then the place of the next one
  tasks.chunks(rows.n, [&](std::size_t first, std::size_t k) {
    for (std::size_t i = first; i < first + k; i += batch_rows) {
      tasks.cancel().check();
      hash_keys(*keys.type(), keys.at(i), std::min(batch_rows, first + k - i), number + i, custom);
    }
    std::size_t* count = at.data() + first / part_rows * parts;
    for (std::size_t i = first; i < first + k; ++i) {
      __extension__ using u128 = unsigned __int128;
      number[i] = static_cast<std::uint64_t>(u128{number[i]} * parts >> 64);
      ++count[number[i]];
    }
  });
  placed_rows placed{permutation(rows.n, rows.n, tasks.pool()), {}};
  std::size_t sum = 0;
  for (std::size_t p = 0; p < parts; ++p) {
    for (std::size_t c = 0; c < chunks_of(rows.n); ++c) sum += std::exchange(at[c * parts + p], sum);
    placed.ends.push_back(sum);
  }
  tasks.chunks(rows.n, [&](std::size_t first, std::size_t k) {
    std::size_t* next = at.data() + first / part_rows * parts;
    for (std::size_t i = first; i < first + k; ++i) placed.order.set(next[number[i]]++, i);
  });
  return placed;
}

// Partitions of about equal length, in the order of the keys; equal keys are never split. Source order in each partition.
placed_rows by_range(const planner::vertex& v, const detail::table& rows, std::size_t parts, const vertex_tasks& tasks) {
  const key_column keys(v.node->functions[0], v.interpreted, rows, tasks, key_column::layout::any);
  const key_order own = v.node->order.empty() ? key_order{} : order_of(v.node->order.front().custom);
  const sort_key key{.type = keys.type(), .base = keys.base(), .stride = keys.stride(), .custom = own};
  placed_rows placed{sort_rows({&key, 1}, rows.n, tasks.scheduler(), tasks.pool(), tasks.cancel()), {}};
  const permutation& order = placed.order;
  std::size_t end = 0;
  for (std::size_t p = 1; p <= parts; ++p) {
    end = std::max(end, even_end(rows.n, parts, p));
    if (end > 0)
      for (; end < rows.n && compare_rows({&key, 1}, order[end - 1], order[end]) == 0; ++end) tasks.cancel().check();
    placed.ends.push_back(end);
  }
  tasks.for_each(parts, [&](std::size_t p) {
    const std::size_t first = p ? placed.ends[p - 1] : 0;
    const detail::stop_point stop;
    placed.order.visit([&](auto* ids) {
      std::sort(ids + first, ids + placed.ends[p], [&](const auto& a, const auto& b) {
        stop.check();
        return a < b;
      });
    });
  });
  return placed;
}

}  // namespace

detail::table partition_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  const input_rows input = collect_input(v, 0, tasks);
  const detail::table& rows = input.table;
  if (v.node->count > planner::most_partitions)
    detail::fail(v.node->label, "more than 1048576 partitions: " + std::to_string(v.node->count), v.node->where);
  const std::size_t parts = v.node->count ? static_cast<std::size_t>(v.node->count) : default_partitions;
  if (rows.n == 0) return with_bounds(rows, std::vector<std::size_t>(static_cast<std::size_t>(v.node->count)));
  if (static_cast<way>(v.node->step) == way::runs) {
    std::vector<std::size_t> ends;
    for (std::size_t p = 1; p <= parts; ++p) ends.push_back(even_end(rows.n, parts, p));
    return with_bounds(rows, std::move(ends));
  }
  placed_rows placed = static_cast<way>(v.node->step) == way::hash ? by_hash(v, rows, parts, tasks) : by_range(v, rows, parts, tasks);
  // Whoever names no number does not ask for empty partitions either.
  if (!v.node->count) placed.ends = runtime::ends_without_empty(std::move(placed.ends));
  return with_bounds(take_rows_by_id(input, placed.order, tasks), std::move(placed.ends));
}

}  // namespace query::cpu
