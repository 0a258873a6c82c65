#include "cpu_engine/group_partitions.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <query/errors.hpp>

#include "cpu_engine/key_column.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t most_chunks = 64;

// Copies k keys that are trivial, row_of(0), row_of(1)..., side by side.
template <class RowOf> void gather_keys(const key_column& keys, std::size_t k, std::byte* to, const RowOf& row_of) {
  const auto* base = static_cast<const std::byte*>(keys.base());
  const std::size_t stride = keys.stride();
  const auto copy = [&](auto width) {
    for (std::size_t i = 0; i < k; ++i) std::memcpy(to + i * width, base + row_of(i) * stride, width);
  };
  switch (keys.type()->size) {
    case 4: return copy(std::integral_constant<std::size_t, 4>{});
    case 8: return copy(std::integral_constant<std::size_t, 8>{});
    case 16: return copy(std::integral_constant<std::size_t, 16>{});
    default: return copy(keys.type()->size);
  }
}

// Constructs the keys of rows ids[0..k): a field of their rows, or computed before, when they may be moved: each is asked for once.
void take_keys(const key_column& keys, const std::uint32_t* ids, std::size_t k, void* out) {
  const ir::type* type = keys.type();
  if (type->trivial) return gather_keys(keys, k, static_cast<std::byte*>(out), [&](std::size_t i) { return std::size_t{ids[i]}; });
  new_rows made(type, out);
  for (std::size_t i = 0; i < k; ++i) {
    const void* key = keys.at(ids[i]);
    if (keys.computed() && type->life.move) move_rows(type, made.end(), const_cast<void*>(key), 1);
    else copy_rows(type, made.end(), key, 1);
    made.grow(1);
  }
  made.release();
}

// Hashes of the keys of rows [from, from + k), k <= batch_rows.
void hash_rows(const key_column& keys, key_equality equality, std::size_t from, std::size_t k, std::uint64_t* hashes) {
  const ir::type* type = keys.type();
  if (keys.stride() == type->size) {
    hash_keys(*type, keys.at(from), k, hashes, equality);
  } else if (type->trivial && type->size <= 16) {
    alignas(16) std::byte side_by_side[batch_rows * 16];
    gather_keys(keys, k, side_by_side, [&](std::size_t i) { return from + i; });
    hash_keys(*type, side_by_side, k, hashes, equality);
  } else {
    for (std::size_t i = 0; i < k; ++i) hash_keys(*type, keys.at(from + i), 1, hashes + i, equality);
  }
}

}  // namespace

// Rows' numbers are partitioned, in order within each partition. The groups of the first rows keep the states that they have: no
// function of the user's sees a row twice.
detail::table group_partitioned(const planner::vertex& v, std::unique_ptr<group_table> first, detail::table rest,
                                const group_program& program, const function_calls& key, runtime::run_context& context) {
  const detail::logical& n = *v.node;
  const vertex_tasks tasks(context, v.captures);
  const std::size_t first_groups = first->groups.size();
  if (rest.n + first_groups > 0xffffffffull)
    throw resource_error("query: group_by: more than 2^32 rows with many groups are not possible yet; filter or aggregate first");
  const unsigned bits = rest.n < (1u << 22) ? 6 : rest.n < (1u << 26) ? 8 : 10;
  const std::size_t partitions = std::size_t{1} << bits;
  const std::size_t chunks = std::clamp<std::size_t>(rest.n / (1 << 18), 1, most_chunks);
  const std::size_t per_chunk = (rest.n + chunks - 1) / chunks;
  const key_equality equality = equality_of(n.keys);
  const auto partition_of = [&](std::uint64_t h) { return static_cast<std::size_t>(h >> (64 - bits)); };

  std::optional<key_column> keys(std::in_place, n.functions[0], v.interpreted, rest, tasks, key_column::layout::any);
  // Hash numbers of all keys, kept as the partition's number: two bytes a row.
  runtime::buffer where = context.pool.allocate_array<std::uint16_t>(rest.n);
  std::vector<std::size_t> counts(chunks * partitions, 0);
  tasks.for_each(chunks, [&](std::size_t c) {
    std::uint64_t hashes[batch_rows];
    const std::size_t end = std::min(rest.n, (c + 1) * per_chunk);
    for (std::size_t from = c * per_chunk; from < end; from += batch_rows) {
      const std::size_t k = std::min(batch_rows, end - from);
      hash_rows(*keys, equality, from, k, hashes);
      for (std::size_t i = 0; i < k; ++i) {
        const std::size_t p = partition_of(hashes[i]);
        where.as<std::uint16_t>()[from + i] = static_cast<std::uint16_t>(p);
        ++counts[c * partitions + p];
      }
    }
  });
  std::vector<std::size_t> starts(partitions + 1, 0);
  std::vector<std::size_t> place(chunks * partitions);
  std::size_t at = 0;
  for (std::size_t p = 0; p < partitions; ++p) {
    starts[p] = at;
    for (std::size_t c = 0; c < chunks; ++c) {
      place[c * partitions + p] = at;
      at += counts[c * partitions + p];
    }
  }
  starts[partitions] = at;
  runtime::buffer rows = context.pool.allocate_array<std::uint32_t>(rest.n);
  tasks.for_each(chunks, [&](std::size_t c) {
    std::size_t* to = &place[c * partitions];
    for (std::size_t i = c * per_chunk; i < std::min(rest.n, (c + 1) * per_chunk); ++i)
      rows.as<std::uint32_t>()[to[where.as<std::uint16_t>()[i]]++] = static_cast<std::uint32_t>(i);
  });
  where.reset();
  std::vector<std::vector<std::uint32_t>> of_first(partitions);  // its groups
  for (std::size_t from = 0; from < first_groups; from += batch_rows) {
    std::uint64_t hashes[batch_rows];
    const std::size_t k = std::min(batch_rows, first_groups - from);
    hash_keys(*n.key, first->groups.key(static_cast<std::uint32_t>(from)), k, hashes, equality);
    for (std::size_t i = 0; i < k; ++i) of_first[partition_of(hashes[i])].push_back(static_cast<std::uint32_t>(from + i));
  }

  std::vector<rows_buffer> results;
  for (std::size_t p = 0; p < partitions; ++p) results.emplace_back(n.row, context.pool);
  // Where the group of the result appeared first, for as_ordered: the number of a group of `first`, or after those of a row.
  std::vector<runtime::buffer> firsts(partitions);
  tasks.for_each(partitions, [&](std::size_t p) {
    const std::size_t k = starts[p + 1] - starts[p];
    if (!k && of_first[p].empty()) return;
    group_table t(n, program, key, context.pool);
    t.merge(*first, of_first[p].data(), of_first[p].size());
    const std::size_t merged = t.groups.size();
    std::vector<std::uint32_t> opened(of_first[p]);
    const auto fetch = [&](const std::uint32_t* ids, std::size_t m, void* out) { take_keys(*keys, ids, m, out); };
    t.update_by_id(rest.rows, rows.as<std::uint32_t>() + starts[p], k, fetch, v.ordered ? &opened : nullptr);
    if (v.ordered) {
      firsts[p] = context.pool.allocate_array<std::uint32_t>(opened.size());
      for (std::size_t i = 0; i < opened.size(); ++i)
        firsts[p].as<std::uint32_t>()[i] = i < merged ? opened[i] : static_cast<std::uint32_t>(first_groups + opened[i]);
    }
    t.finish(results[p]);
  });

  keys.reset();
  rows.reset();
  first.reset();
  rest = {};
  std::size_t total = 0;
  for (const rows_buffer& r : results) total += r.size();
  rows_buffer out(n.row, context.pool);
  out.reserve(total ? total : 1);
  if (!v.ordered) {
    for (rows_buffer& r : results) {
      out.take_rows(r.data(), r.size());
      r = rows_buffer(n.row, context.pool);
    }
  } else {
    struct origin {
      std::uint32_t first, partition, position;
    };
    std::vector<origin> order;
    order.reserve(total);
    for (std::size_t p = 0; p < partitions; ++p)
      for (std::size_t i = 0; i < results[p].size(); ++i)
        order.push_back({firsts[p].as<std::uint32_t>()[i], static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(i)});
    std::sort(order.begin(), order.end(), [](const origin& a, const origin& b) { return a.first < b.first; });
    for (const origin& o : order) out.take_rows(results[o.partition].at(o.position), 1);
  }
  return std::move(out).to_table();
}

}  // namespace query::cpu
