#include "cpu_engine/first_of_keys.hpp"

#include <bit>
#include <cstring>

#include <query/cpu/typed_segment.hpp>

#include "cpu_engine/grouper.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t small_input = std::size_t{1} << 17;
constexpr std::size_t local_rows = std::size_t{1} << 18;   // reduced by one task where few keys are distinct
constexpr std::size_t most_partitions = 1024;

struct keys_at {
  const ir::type* type;
  const void* base;
  std::size_t n;
  key_equality custom;
  const void* at(std::size_t i) const { return row_at(base, type, i); }
};

// Flags the first row of each key among n adjacent ones. Ids are numbered by first appearance: a new one is the next number.
void flag_first(grouper& groups, const void* keys, const ir::type* type, std::size_t n, std::uint8_t* flags,
                const runtime::cancel_flag& cancel) {
  std::uint32_t ids[batch_rows];
  std::size_t seen = groups.size();
  for (std::size_t from = 0; from < n; from += batch_rows) {
    const std::size_t m = std::min(batch_rows, n - from);
    cancel.check();
    groups.find_or_insert(row_at(keys, type, from), m, ids);
    for (std::size_t i = 0; i < m; ++i) {
      flags[from + i] = ids[i] == seen;
      seen += ids[i] == seen;
    }
  }
}

// The same for keys by row number, which are few enough for a partition.
template <class Id>
void flag_first_by_id(grouper& groups, const keys_at& keys, const Id* rows, std::size_t n, std::uint8_t* flags, const vertex_tasks& tasks) {
  rows_buffer batch(keys.type, tasks.pool());
  std::uint32_t ids[batch_rows];
  std::size_t seen = 0;
  for (std::size_t from = 0; from < n; from += batch_rows) {
    const std::size_t m = std::min(batch_rows, n - from);
    tasks.cancel().check();
    batch.clear();
    gather_rows(keys.type, batch.extend(m), keys.base, rows + from, m);
    batch.grow(m);
    groups.find_or_insert(batch.data(), m, ids);
    for (std::size_t i = 0; i < m; ++i) {
      flags[rows[from + i]] = ids[i] == seen;
      seen += ids[i] == seen;
    }
  }
}

// Divides the rows by the hash of their key; equal keys meet in one partition, in order of the rows.
void flag_first_partitioned(const keys_at& keys, std::uint8_t* flags, const vertex_tasks& tasks) {
  const std::size_t n = keys.n, parts = std::min(most_partitions, std::bit_ceil(n / part_rows)), chunks = chunks_of(n);
  const auto shift = static_cast<unsigned>(64 - std::countr_zero(parts));
  const runtime::buffer hash_memory = tasks.pool().allocate_array<std::uint64_t>(n);
  std::uint64_t* hashes = hash_memory.as<std::uint64_t>();
  std::vector<std::size_t> at(chunks * parts);  // [chunk][partition]: rows, then the place of the next one
  tasks.chunks(n, [&](std::size_t first, std::size_t k) {
    hash_keys(*keys.type, keys.at(first), k, hashes + first, keys.custom);
    std::size_t* count = at.data() + first / part_rows * parts;
    for (std::size_t i = first; i < first + k; ++i) ++count[hashes[i] >> shift];
  });
  std::vector<std::size_t> ends;
  std::size_t sum = 0;
  for (std::size_t p = 0; p < parts; ++p) {
    for (std::size_t c = 0; c < chunks; ++c) sum += std::exchange(at[c * parts + p], sum);
    ends.push_back(sum);
  }
  permutation order(n, n, tasks.pool());
  order.visit([&](auto* rows) {
    using id = std::remove_pointer_t<decltype(rows)>;
    tasks.chunks(n, [&](std::size_t first, std::size_t k) {
      std::size_t* next = at.data() + first / part_rows * parts;
      for (std::size_t i = first; i < first + k; ++i) rows[next[hashes[i] >> shift]++] = static_cast<id>(i);
    });
    tasks.for_each(parts, [&](std::size_t p) {
      const std::size_t first = p ? ends[p - 1] : 0;
      grouper groups(keys.type, tasks.pool(), keys.custom);
      flag_first_by_id(groups, keys, static_cast<const id*>(rows + first), ends[p] - first, flags, tasks);
    });
  });
}

// Reduces runs of rows by themselves, then their first rows together.
permutation reduce_locally(const keys_at& keys, std::uint8_t* flags, const vertex_tasks& tasks) {
  const std::size_t runs = (keys.n + local_rows - 1) / local_rows;
  tasks.for_each(runs, [&](std::size_t r) {
    const std::size_t first = r * local_rows;
    grouper groups(keys.type, tasks.pool(), keys.custom);
    flag_first(groups, keys.at(first), keys.type, std::min(local_rows, keys.n - first), flags + first, tasks.cancel());
  });
  const permutation candidates = rows_flagged(flags, keys.n, 1, tasks);
  const rows_buffer candidate_keys = construct_rows(keys.type, candidates.size(), tasks, [&](std::size_t first, std::size_t k, void* out) {
    candidates.visit([&](const auto* rows) { gather_rows(keys.type, out, keys.base, rows + first, k); });
  });
  // Fewer each time, as most rows of the sample were repeats; else the rest goes by its hash.
  const permutation chosen = first_of_keys(keys.type, candidate_keys.data(), candidates.size(), keys.custom, tasks);
  permutation first(chosen.size(), keys.n, tasks.pool());
  tasks.chunks(chosen.size(), [&](std::size_t from, std::size_t k) {
    for (std::size_t i = from; i < from + k; ++i) first.set(i, candidates[chosen[i]]);
  });
  return first;
}

}  // namespace

permutation first_of_keys(const ir::type* type, const void* base, std::size_t n, key_equality custom, const vertex_tasks& tasks) {
  const keys_at keys{type, base, n, custom};
  const runtime::buffer memory = tasks.pool().allocate(n);
  std::uint8_t* flags = memory.as<std::uint8_t>();
  const std::size_t sample = n <= small_input ? n : part_rows;
  std::size_t distinct;
  {
    grouper groups(type, tasks.pool(), custom);
    flag_first(groups, base, type, sample, flags, tasks.cancel());
    distinct = groups.size();
  }
  if (sample < n) {
    if (distinct <= sample / 4) return reduce_locally(keys, flags, tasks);
    flag_first_partitioned(keys, flags, tasks);
  }
  return rows_flagged(flags, n, 1, tasks);
}

permutation seen_keys::first_of(const void* keys, std::size_t n, const vertex_tasks& tasks) {
  const runtime::buffer flags = tasks.pool().allocate(n);
  flag_first(groups_, keys, &groups_.key_type(), n, flags.as<std::uint8_t>(), tasks.cancel());
  return rows_flagged(flags.as<std::uint8_t>(), n, 1, tasks);
}

permutation rows_flagged(const std::uint8_t* flags, std::size_t n, std::uint8_t wanted, const vertex_tasks& tasks) {
  std::vector<std::size_t> starts(chunks_of(n) + 1);
  tasks.chunks(n, [&](std::size_t first, std::size_t k) {
    std::size_t count = 0;
    for (std::size_t i = first; i < first + k; ++i) count += flags[i] == wanted;
    starts[first / part_rows + 1] = count;
  });
  for (std::size_t c = 1; c < starts.size(); ++c) starts[c] += starts[c - 1];
  permutation rows(starts.back(), n, tasks.pool());
  tasks.chunks(n, [&](std::size_t first, std::size_t k) {
    std::size_t at = starts[first / part_rows];
    for (std::size_t i = first; i < first + k; ++i)
      if (flags[i] == wanted) rows.set(at++, i);
  });
  return rows;
}

}  // namespace query::cpu
