#include "cpu_engine/group_partitions.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include <query/errors.hpp>

#include "cpu_engine/key_column.hpp"
#include "cpu_engine/key_tables.hpp"
#include "cpu_engine/scattered_keys.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t most_chunks = 64;

// The numbers of a table's rows by the partition of a key that lies in the row, in order within each partition.
class numbered_rows {
 public:
  numbered_rows(const planner::vertex& v, const detail::table& rows, unsigned bits, const vertex_tasks& tasks)
      : keys_(v.node->functions[0], v.interpreted, rows, tasks, key_column::layout::any),
        view_{keys_.type(), 0, static_cast<const std::byte*>(keys_.base()), keys_.stride()} {
    const std::size_t n = rows.n, partitions = std::size_t{1} << bits;
    const std::size_t chunks = std::clamp<std::size_t>(n / (1 << 18), 1, most_chunks);
    const std::size_t per_chunk = (n + chunks - 1) / chunks;
    const key_equality equality = equality_of(v.node->keys);
    // Hash numbers of all keys, kept as the partition's number: two bytes a row.
    const runtime::buffer where = tasks.pool().allocate_array<std::uint16_t>(n);
    std::vector<std::size_t> counts(chunks * partitions, 0);
    tasks.for_each(chunks, [&](std::size_t c) {
      const detail::stop_point stop;
      std::uint64_t hashes[batch_rows];
      const std::size_t end = std::min(n, (c + 1) * per_chunk);
      for (std::size_t from = c * per_chunk; from < end; from += batch_rows) {
        const std::size_t k = std::min(batch_rows, end - from);
        stop.check();
        hash_keys(*keys_.type(), {&view_, 1}, from, k, hashes, equality);
        for (std::size_t i = 0; i < k; ++i) {
          const std::size_t p = static_cast<std::size_t>(hashes[i] >> (64 - bits));
          where.as<std::uint16_t>()[from + i] = static_cast<std::uint16_t>(p);
          ++counts[c * partitions + p];
        }
      }
    });
    std::vector<std::size_t> place(chunks * partitions);
    std::size_t at = 0;
    for (std::size_t p = 0; p < partitions; ++p) {
      starts_.push_back(at);
      for (std::size_t c = 0; c < chunks; ++c) {
        place[c * partitions + p] = at;
        at += counts[c * partitions + p];
      }
    }
    starts_.push_back(at);
    rows_ = tasks.pool().allocate_array<std::uint32_t>(n);
    tasks.for_each(chunks, [&](std::size_t c) {
      std::size_t* to = &place[c * partitions];
      detail::in_runs<rows_a_look>(c * per_chunk, std::min(n, (c + 1) * per_chunk), [&](std::size_t i, std::size_t end) {
        for (; i < end; ++i) rows_.as<std::uint32_t>()[to[where.as<std::uint16_t>()[i]]++] = static_cast<std::uint32_t>(i);
      });
    });
  }

  std::size_t rows_of(std::size_t p) const { return starts_[p + 1] - starts_[p]; }
  void feed(std::size_t p, group_table& to, const void* rows, std::vector<std::uint32_t>* opened) const {
    key_part keys = view_;
    keys.select = rows_.as<std::uint32_t>() + starts_[p];
    to.update_keyed(rows, keys.select, keys, rows_of(p), opened);
  }

 private:
  key_column keys_;
  key_part view_;
  std::vector<std::size_t> starts_;
  runtime::buffer rows_;
};

}  // namespace

// The groups that tables have keep their states: no function of the user's sees a row twice.
detail::table group_partitioned(const planner::vertex& v, std::vector<std::unique_ptr<group_table>> tables, detail::table rest,
                                const group_program& program, const function_calls& key, runtime::run_context& context) {
  const detail::logical& n = *v.node;
  const vertex_tasks tasks(context, v.captures);
  std::vector<std::size_t> before;  // groups of the tables before each
  std::size_t known_groups = 0;
  for (const auto& t : tables) {
    before.push_back(known_groups);
    known_groups += t->groups.size();
  }
  if (rest.n + known_groups > 0xffffffffull)
    throw resource_error("query: group_by: more than 2^32 rows with many groups are not possible yet; filter or aggregate first");
  const std::size_t work = rest.n + known_groups;
  const unsigned bits = work < (1u << 22) ? 6 : work < (1u << 26) ? 8 : 10;
  const std::size_t partitions = std::size_t{1} << bits;
  const key_equality equality = equality_of(n.keys);
  const auto partition_of = [&](std::uint64_t h) { return static_cast<std::size_t>(h >> (64 - bits)); };

  std::optional<numbered_rows> numbered;
  std::optional<scattered_keys> computed;
  if (rest.n && part_of_row(n.functions[0])) numbered.emplace(v, rest, bits, tasks);
  else if (rest.n) computed.emplace(key, n.key, equality, rest, bits, tasks);
  std::vector<std::vector<std::vector<std::uint32_t>>> groups_of(tables.size());  // each table's, by partition
  tasks.for_each(tables.size(), [&](std::size_t t) {
    const grouper& groups = tables[t]->groups;
    groups_of[t].resize(partitions);
    for (std::size_t from = 0; from < groups.size(); from += batch_rows) {
      std::uint64_t hashes[batch_rows];
      const std::size_t k = std::min(batch_rows, groups.size() - from);
      hash_keys(*n.key, groups.key(static_cast<std::uint32_t>(from)), k, hashes, equality);
      for (std::size_t i = 0; i < k; ++i) groups_of[t][partition_of(hashes[i])].push_back(static_cast<std::uint32_t>(from + i));
    }
  });

  std::vector<rows_buffer> results;
  for (std::size_t p = 0; p < partitions; ++p) results.emplace_back(n.row, context.pool);
  // Where the group of the result appeared first, for as_ordered: the number of a group of a table, or after those of a row.
  std::vector<runtime::buffer> firsts(partitions);
  // In this order, whatever the order of the tasks: computed keys give memory back band by band.
  std::atomic<std::size_t> next_partition{0};
  tasks.for_each(partitions, [&](std::size_t) {
    const std::size_t p = next_partition.fetch_add(1, std::memory_order_relaxed);
    const std::size_t k = numbered ? numbered->rows_of(p) : computed ? computed->rows_of(p) : 0;
    if (k || std::any_of(groups_of.begin(), groups_of.end(), [&](const auto& of) { return !of[p].empty(); })) {
      group_table t(n, program, key, context.pool);
      std::vector<std::uint32_t> opened;
      std::vector<std::uint32_t>* const note = v.ordered ? &opened : nullptr;
      for (std::size_t i = 0; i < tables.size(); ++i)
        t.merge(*tables[i], groups_of[i][p].data(), groups_of[i][p].size(), note, static_cast<std::uint32_t>(before[i]));
      const std::size_t merged = t.groups.size();
      if (numbered) numbered->feed(p, t, rest.rows, note);
      else if (computed)
        computed->each_run(p, [&](const std::uint32_t* ids, const void* keys, std::size_t m) {
          t.update_keyed(rest.rows, ids, side_by_side(*n.key, keys), m, note);
        });
      if (v.ordered) {
        firsts[p] = context.pool.allocate_array<std::uint32_t>(opened.size());
        for (std::size_t i = 0; i < opened.size(); ++i)
          firsts[p].as<std::uint32_t>()[i] = i < merged ? opened[i] : static_cast<std::uint32_t>(known_groups + opened[i]);
      }
      if (computed) computed->release(p);
      t.finish(results[p]);
    } else if (computed) {
      computed->release(p);
    }
  });

  numbered.reset();
  computed.reset();
  tables.clear();
  rest = {};
  std::size_t total = 0;
  for (const rows_buffer& r : results) total += r.size();
  rows_buffer out(n.row, context.pool);
  out.reserve(total ? total : 1);
  if (!v.ordered) {
    for (rows_buffer& r : results) {
      context.cancel.check();
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
    const detail::stop_point stop;
    std::sort(order.begin(), order.end(), [&](const origin& a, const origin& b) {
      stop.check();
      return a.first < b.first;
    });
    detail::in_runs(0, order.size(), [&](std::size_t i, std::size_t end) {
      for (; i < end; ++i) out.take_rows(results[order[i].partition].at(order[i].position), 1);
    });
  }
  return std::move(out).to_table();
}

}  // namespace query::cpu
