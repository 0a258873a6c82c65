#include "cpu_engine/heavy_rows.hpp"

#include <algorithm>
#include <memory>

#include <query/cpu/segment_form.hpp>
#include <query/errors.hpp>

#include "cpu_engine/key_column.hpp"
#include "cpu_engine/key_hash.hpp"
#include "cpu_engine/partitioned_tables.hpp"
#include "cpu_engine/range_exchange.hpp"
#include "cpu_engine/vertex_tasks.hpp"
#include "runtime/partition_bounds.hpp"

namespace query::cpu {

namespace {

// As the exchange hashes them.
std::vector<std::uint64_t> hashes_of(const planner::vertex& v, const detail::table& rows, const vertex_tasks& tasks) {
  std::vector<std::uint64_t> hashes(rows.n);
  if (!rows.n) return hashes;
  const key_column keys(v.node->functions[0], v.interpreted, rows, tasks, key_column::layout::adjacent);
  const key_equality custom = equality_of(v.node->keys);
  tasks.chunks(rows.n, [&](std::size_t first, std::size_t k) {
    for (std::size_t i = first; i < first + k; i += batch_rows) {
      tasks.cancel().check();
      hash_keys(*keys.type(), keys.at(i), std::min(batch_rows, first + k - i), hashes.data() + i, custom);
    }
  });
  return hashes;
}

}  // namespace

std::vector<std::uint64_t> rows_by_hash(const planner::vertex& v, const runtime::vertex_rows& rows, std::size_t receivers,
                                        runtime::run_context& context) {
  std::vector<std::uint64_t> n(receivers);
  const auto made = rows.here() ? nullptr : std::dynamic_pointer_cast<const partitioned_tables>(rows.kept);
  const detail::table table = made ? detail::table{} : context.table_of(v);
  if (!made && !table.n) return n;
  const runtime::partition_bounds* const bounds = made ? nullptr : runtime::bounds_of(table);
  if (!made && !bounds) throw internal_error("query: an exchange has no partitions");
  const std::vector<std::size_t>& ends = made ? made->ends() : bounds->ends;
  for (std::size_t r = 0; r < receivers; ++r) n[r] = ends[r] - (r ? ends[r - 1] : 0);
  return n;
}

std::vector<std::uint64_t> sample_hashes(const planner::vertex& v, const runtime::vertex_rows& rows, std::size_t wanted,
                                         runtime::run_context& context) {
  return hashes_of(v, sample_rows(v, rows, wanted, context), vertex_tasks(context, v.captures));
}

std::vector<std::vector<std::uint64_t>> receivers_of(const planner::vertex& v, const detail::table& piece, std::size_t first,
                                                     const std::vector<std::size_t>& ends, const runtime::heavy_keys& keys,
                                                     runtime::run_context& context) {
  const vertex_tasks tasks(context, v.captures);
  std::vector<std::vector<std::uint64_t>> to(ends.size());
  for (std::size_t r = 0; r < ends.size(); ++r) {
    const std::size_t begin = r ? ends[r - 1] : 0, from = std::max(begin, first), end = std::min(ends[r], first + piece.n);
    if (from >= end) continue;
    const auto is_here = [&](std::uint64_t hash) { return partition_of(hash, ends.size()) == r; };
    const bool heavy = std::any_of(keys.hashes.begin(), keys.hashes.end(), is_here);
    // Keys are computed once more, but only those among which there are heavy ones.
    const auto hashes = heavy ? hashes_of(v, slice(piece, from - first, end - from), tasks) : std::vector<std::uint64_t>{};
    for (std::size_t i = from; i < end; ++i) {
      if (i % 4096 == 0) context.cancel.check();
      if (!heavy || !keys.has(hashes[i - from])) to[r].push_back(i - first);
      else if (!keys.to_all) to[keys.place(r, i - begin)].push_back(i - first);
      else
        for (auto& each : to) each.push_back(i - first);
    }
  }
  return to;
}

}  // namespace query::cpu
