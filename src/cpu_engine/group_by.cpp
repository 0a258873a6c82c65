#include "cpu_engine/group_by.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include <query/cpu/typed_segment.hpp>
#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "cpu_engine/function_calls.hpp"
#include "cpu_engine/group_states.hpp"
#include "cpu_engine/grouper.hpp"
#include "cpu_engine/key_column.hpp"
#include "cpu_engine/pipeline.hpp"

namespace query::cpu {

using detail::logical;
using detail::row_block;

namespace {

constexpr std::size_t most_tables = 64;
// A part whose table has outgrown this many groups, with less than four rows a group, says that pre-aggregation does not pay.
constexpr std::size_t many_groups = 1 << 15;
// Rows with known keys in a row that make a new key an exception.
constexpr std::size_t long_run = 64;

// One table of groups, fed with batches of rows.
class group_table {
 public:
  group_table(const logical& n, const group_program& program, const function_calls& key, runtime::buffer_pool& pool)
      : node_(&n), key_(&key), groups(n.key, pool, equality_of(n.keys)), states_(program.states(pool)), keys_(n.key, pool) {}

  // opened: gets the number of the row that each new group came from; groups are numbered as they appear.
  void update(const void* rows, std::size_t n, const std::uint32_t* select, std::vector<std::uint32_t>* opened = nullptr) {
    for (std::size_t from = 0; from < n;) {
      std::size_t most = batch_rows;
      bool first_known = false;  // the first row's key was computed by the loop that did not know it
      if (!select && fuses()) {
        const std::size_t run = update_known(static_cast<const std::byte*>(rows) + from * node_->functions[0].row->size, n - from);
        rows_seen += run;
        from += run;
        first_known = from < n;
        if (run >= long_run) most = long_run;  // the next row's key is new; those after it are likely not
      }
      const std::size_t k = std::min(most, n - from);
      if (!k) return;
      const void* base = select ? rows : static_cast<const std::byte*>(rows) + from * node_->functions[0].row->size;
      const std::uint32_t* chosen = select ? select + from : nullptr;
      keys_.clear();
      auto* keys = static_cast<std::byte*>(keys_.extend(k));
      if (first_known) {
        const std::size_t size = node_->key->size;
        std::memcpy(keys, missed_, size);
        if (k > 1) key_->map(static_cast<const std::byte*>(base) + node_->functions[0].row->size, nullptr, k - 1, keys + size, scratch_);
      } else {
        key_->map(base, chosen, k, keys, scratch_);
      }
      keys_.grow(k);
      groups.find_or_insert(keys_.data(), k, ids_);
      states_->grow_to(groups.size());
      states_->update(ids_, base, chosen, k);
      if (opened)
        for (std::size_t i = 0; i < k; ++i)
          if (ids_[i] == opened->size()) opened->push_back(chosen[i]);
      rows_seen += k;
      from += k;
    }
  }
  // Takes over another table's groups; the other one is empty afterwards.
  void merge(group_table& o) {
    const std::size_t key_size = node_->key->size;
    for (std::size_t from = 0; from < o.groups.size(); from += batch_rows) {
      const std::size_t k = std::min(batch_rows, o.groups.size() - from);
      groups.find_or_insert(static_cast<const std::byte*>(o.groups.keys()) + from * key_size, k, ids_);
      states_->grow_to(groups.size());
      states_->merge(ids_, *o.states_, from, k);
    }
    o.states_->clear();
  }
  void finish(rows_buffer& out) {
    const std::size_t n = groups.size();
    out.reserve(n);
    const detail::stop_point stop;
    for (std::size_t from = 0; from < n; from += detail::calls_a_look) {
      const std::size_t k = std::min(detail::calls_a_look, n - from);
      states_->finish(static_cast<const std::byte*>(groups.keys()) + from * node_->key->size, from, k, out.extend(k));
      out.grow(k);
      stop.check();
    }
  }

 private:
  // Updates groups that are there already, up to the first row of another one; returns how many rows that were.
  bool fuses() const { return states_->knows_keys() && !key_->is_interpreted() && groups.known(); }
  std::size_t update_known(const void* rows, std::size_t n) {
    return states_->update_known(node_->functions[0].f.get(), groups.known(), rows, n, missed_);
  }

  const logical* node_;
  const function_calls* key_;

 public:
  grouper groups;
  std::size_t rows_seen = 0;

 private:
  std::unique_ptr<group_states> states_;
  rows_buffer keys_;
  interpreter::scratch scratch_;
  std::uint32_t ids_[batch_rows];
  alignas(8) std::byte missed_[8];  // an integer key
};

class group_sink final : public detail::batch_sink {
 public:
  explicit group_sink(group_table& t) : table_(&t) {}
  void push(const row_block& b) override { table_->update(b.rows, b.n, nullptr); }

 private:
  group_table* table_;
};

// Many groups: the input as one table, its rows' numbers partitioned by hash, in order within each partition.
detail::table group_partitioned(const planner::vertex& v, const detail::table& in, const group_program& program, const function_calls& key,
                                runtime::run_context& context) {
  const logical& n = *v.node;
  const auto bindings = context.bind(v.captures);
  if (in.n > 0xffffffffull) throw resource_error("query: group_by: more than 2^32 rows with many groups are not possible yet; filter or aggregate first");
  const unsigned bits = in.n < (1u << 22) ? 6 : in.n < (1u << 26) ? 8 : 10;
  const std::size_t partitions = std::size_t{1} << bits;
  const std::size_t chunks = std::clamp<std::size_t>(in.n / (1 << 18), 1, most_tables);
  const std::size_t per_chunk = (in.n + chunks - 1) / chunks;
  const auto partition_of = [&](std::uint64_t h) { return static_cast<std::size_t>(h >> (64 - bits)); };

  // Hash numbers of all keys, kept as the partition's number: two bytes a row.
  runtime::buffer where = context.pool.allocate_array<std::uint16_t>(in.n);
  std::vector<std::size_t> counts(chunks * partitions, 0);
  context.scheduler.for_each(
      chunks,
      [&](std::size_t c) {
        const detail::binding_scope scope(bindings);
        rows_buffer keys(n.key, context.pool);
        interpreter::scratch scratch;
        std::uint64_t hashes[batch_rows];
        const key_equality equality = equality_of(n.keys);
        for (std::size_t from = c * per_chunk; from < std::min(in.n, (c + 1) * per_chunk); from += batch_rows) {
          const std::size_t k = std::min(batch_rows, std::min(in.n, (c + 1) * per_chunk) - from);
          keys.clear();
          key.map(static_cast<const std::byte*>(in.rows) + from * in.type->size, nullptr, k, keys.extend(k), scratch);
          keys.grow(k);
          if (equality.hash) {
            for (std::size_t i = 0; i < k; ++i) hashes[i] = equality.hash(equality.context, keys.at(i)) * 0x9E3779B97F4A7C15ull;
          } else {
            hash_keys(*n.key, keys.data(), k, hashes);
          }
          for (std::size_t i = 0; i < k; ++i) {
            const std::size_t p = partition_of(hashes[i]);
            where.as<std::uint16_t>()[from + i] = static_cast<std::uint16_t>(p);
            ++counts[c * partitions + p];
          }
        }
      },
      context.cancel);
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
  runtime::buffer rows = context.pool.allocate_array<std::uint32_t>(in.n);
  context.scheduler.for_each(
      chunks,
      [&](std::size_t c) {
        std::size_t* to = &place[c * partitions];
        for (std::size_t i = c * per_chunk; i < std::min(in.n, (c + 1) * per_chunk); ++i)
          rows.as<std::uint32_t>()[to[where.as<std::uint16_t>()[i]]++] = static_cast<std::uint32_t>(i);
      },
      context.cancel);
  where.reset();

  std::vector<rows_buffer> results;
  for (std::size_t p = 0; p < partitions; ++p) results.emplace_back(n.row, context.pool);
  std::vector<runtime::buffer> firsts(partitions);  // row of first appearance of each group, for as_ordered
  context.scheduler.for_each(
      partitions,
      [&](std::size_t p) {
        const detail::binding_scope scope(bindings);
        const std::size_t k = starts[p + 1] - starts[p];
        if (!k) return;
        group_table t(n, program, key, context.pool);
        const std::uint32_t* ids = rows.as<std::uint32_t>() + starts[p];
        if (!v.ordered) {
          t.update(in.rows, k, ids);
        } else {
          std::vector<std::uint32_t> first;
          t.update(in.rows, k, ids, &first);
          firsts[p] = context.pool.allocate_array<std::uint32_t>(first.size());
          std::copy(first.begin(), first.end(), firsts[p].as<std::uint32_t>());
        }
        t.finish(results[p]);
      },
      context.cancel);

  rows.reset();
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

}  // namespace

detail::table group_rows(const planner::vertex& v, runtime::run_context& context) {
  const logical& n = *v.node;
  const auto bindings = context.bind(v.captures);
  const detail::binding_scope scope(bindings);  // merging and finishing call functions too
  const group_program program(n, v.group_function.get());
  const function_calls key(n.functions[0], v.interpreted, false);

  pipeline p(v.inputs[0], v.captures, context);
  p.limit_parts(most_tables);
  std::vector<std::unique_ptr<group_table>> tables(p.parts() ? std::max<std::size_t>(1, *p.parts()) : most_tables);

  // The first part tells whether tables a part pay.
  bool partition = false;
  const auto run = [&](const pipeline::part& part) {
    auto& t = tables[part.index % tables.size()];
    if (!t) t = std::make_unique<group_table>(n, program, key, context.pool);
    group_sink sink(*t);
    part.run(sink);
  };
  if (p.run_some(1, run)) {
    const group_table& first = *tables[0];
    partition = p.source_rows() && tables.size() > 1 && first.groups.size() > many_groups && first.groups.size() * 4 > first.rows_seen;
  }
  if (partition) {
    tables.clear();
    return group_partitioned(v, collect(v.inputs[0], v.captures, context), program, key, context);
  }
  // The tables of a window, in the order of their parts, join the first one.
  std::unique_ptr<group_table> all = std::move(tables.front());
  const auto merge_window = [&](std::size_t first) {
    for (std::size_t i = 0; i < tables.size(); ++i) {
      std::unique_ptr<group_table> t = std::move(tables[(first + i) % tables.size()]);
      if (!t) continue;
      context.cancel.check();
      if (all) all->merge(*t);
      else all = std::move(t);
    }
  };
  if (p.source_rows()) {
    p.run_all(run);
    merge_window(1);
  } else {
    for (std::size_t first = p.next_part(); p.run_some(most_tables, run); first = p.next_part()) merge_window(first);
  }
  rows_buffer out(n.row, context.pool);
  if (all) all->finish(out);
  return std::move(out).to_table();
}

detail::table aggregate_rows(const planner::vertex& v, runtime::run_context& context) {
  const logical& n = *v.node;
  const group_program program(n, v.group_function.get());
  const auto bindings = context.bind(v.captures);
  const detail::binding_scope scope(bindings);
  pipeline p(v.inputs[0], v.captures, context);
  p.limit_parts(most_tables);
  const bool known = p.parts().has_value();
  const std::size_t window = known ? std::max<std::size_t>(*p.parts(), 1) : most_tables;
  const std::unique_ptr<group_states> total = program.states(context.pool);
  total->grow_to(1);

  class sink final : public detail::batch_sink {
   public:
    explicit sink(group_states& s) : states_(&s) {}
    void push(const row_block& b) override { states_->update(nullptr, b.rows, nullptr, b.n); }

   private:
    group_states* states_;
  };
  while (true) {
    std::vector<std::unique_ptr<group_states>> parts;
    parts.reserve(window);
    for (std::size_t i = 0; i < window; ++i) {
      parts.push_back(program.states(context.pool));
      parts.back()->grow_to(1);
    }
    const std::size_t first = p.next_part();
    const bool more = p.run_some(window, [&](const pipeline::part& part) {
      sink s(*parts[part.index - first]);
      part.run(s);
    });
    for (const auto& s : parts) total->merge(nullptr, *s, 0, 1);
    if (!more || known) break;
  }
  rows_buffer out(n.row, context.pool);
  const std::int64_t no_key = 0;
  total->finish(&no_key, 0, 1, out.extend(1));
  out.grow(1);
  return std::move(out).to_table();
}

}  // namespace query::cpu
