// hash_partitioned_by, range_partitioned_by, partitioned: rows side by side by partition (runtime/partition_bounds.hpp).
#include <atomic>
#include <memory>
#include <optional>

#include <query/cpu/segment_form.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "cpu_engine/collected_rows.hpp"
#include "cpu_engine/key_column.hpp"
#include "cpu_engine/partition_numbers.hpp"
#include "cpu_engine/placed_rows.hpp"
#include "cpu_engine/positioned_rows.hpp"
#include "cpu_engine/sort.hpp"
#include "cpu_engine/sort_rows.hpp"
#include "cpu_engine/table_estimate.hpp"
#include "cpu_engine/table_verbs.hpp"
#include "planner/partitions.hpp"
#include "runtime/partition_bounds.hpp"

namespace query::cpu {

using runtime::even_end;
using runtime::with_bounds;
using way = planner::partition_way;

namespace {

// Rows by the hash of their key, in source order in each partition.
placed_rows by_hash(const planner::vertex& v, const detail::table& rows, const vertex_tasks& tasks) {
  const partition_numbers numbers(v, rows.n, tasks.context());
  const key_column keys(v.node->functions[0], v.interpreted, rows, tasks, key_column::layout::adjacent);
  const key_equality custom = equality_of(v.node->keys);
  return place_by_number(rows.n, numbers.count(), tasks, [&](std::size_t first, std::size_t k, std::uint64_t* number) {
    hash_keys(*keys.type(), keys.at(first), k, number, custom);
    for (std::size_t i = 0; i < k; ++i) number[i] = numbers.of(number[i]);
  });
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

namespace {

// ---------------------------------------------------------------- beyond memory
// The keys of some rows; the buffer is used again.
class keys_of_rows {
 public:
  keys_of_rows(const planner::vertex& v, runtime::buffer_pool& pool)
      : calls_(v.node->functions[0], v.interpreted, false), keys_(v.node->functions[0].result, pool) {}
  const void* of(const void* rows, std::size_t n) {
    keys_.clear();
    calls_.map(rows, nullptr, n, keys_.extend(n), scratch_);
    keys_.grow(n);
    return keys_.data();
  }
  const ir::type* type() const { return keys_.type(); }

 private:
  function_calls calls_;
  rows_buffer keys_;
  interpreter::scratch scratch_;
};

// Rows of a pipeline by the number of their partition, which finds(rows, n, numbers) says; in source order in each partition.
class partitions_beyond_memory {
 public:
  using finder = function_ref<void(keys_of_rows& keys, const void* rows, std::size_t n, std::uint64_t* numbers)>;

  partitions_beyond_memory(const planner::vertex& v, std::size_t parts, const vertex_tasks& tasks)
      : v_(&v), tasks_(&tasks), counts_(parts) {}

  runtime::vertex_rows rows(pipeline& p, std::size_t row_heap, std::shared_ptr<const void> lives_on, finder find) {
    const std::size_t room = memory_left(tasks_->pool()), size = p.row()->size;
    auto found = std::make_shared<positioned_rows>(*v_, *tasks_, nullptr, counts_.size(), p.source_rows().value_or(0),
                                                   p.parts().value_or(1), room, row_heap);
    const bool stays = p.in_place();
    p.run_all([&](const pipeline::part& part) {
      positioned_rows::writer to(*found, part.index);
      keys_of_rows keys(*v_, tasks_->pool());
      std::uint64_t numbers[batch_rows];
      class numbered final : public detail::batch_sink {
       public:
        explicit numbered(function_ref<void(const detail::row_block&)> f) : f_(f) {}
        void push(const detail::row_block& b) override { f_(b); }

       private:
        function_ref<void(const detail::row_block&)> f_;
      };
      const auto append = [&](const detail::row_block& b) {
        for (std::size_t from = 0; from < b.n; from += batch_rows) {
          const std::size_t n = std::min(batch_rows, b.n - from);
          const auto* const rows = static_cast<const std::byte*>(b.rows) + from * size;
          find(keys, rows, n, numbers);
          for (std::size_t i = 0; i < n; ++i) counts_[static_cast<std::size_t>(numbers[i])].fetch_add(1, std::memory_order_relaxed);
          const column records{rows, size, 0, size, nullptr, !stays};
          to.append({&records, 1}, n, numbers, b.owned);
        }
      };
      numbered sink(append);
      part.run(sink);
      to.finish();
    });
    found->finish(std::move(lives_on));
    return collected_rows{{}, found, row_heap}.partitioned(ends());
  }

 private:
  std::vector<std::size_t> ends() const {
    std::vector<std::size_t> ends;
    std::size_t sum = 0;
    for (const auto& n : counts_) ends.push_back(sum += static_cast<std::size_t>(n.load()));
    return v_->node->count ? ends : runtime::ends_without_empty(std::move(ends));
  }

  const planner::vertex* v_;
  const vertex_tasks* tasks_;
  std::vector<std::atomic<std::uint64_t>> counts_;
};

runtime::vertex_rows by_hash_beyond_memory(const planner::vertex& v, pipeline& p, std::size_t row_heap,
                                           const partition_numbers& partitions, std::shared_ptr<const void> lives_on,
                                           const vertex_tasks& tasks) {
  const key_equality custom = equality_of(v.node->keys);
  return partitions_beyond_memory(v, partitions.count(), tasks)
      .rows(p, row_heap, std::move(lives_on), [&](keys_of_rows& keys, const void* rows, std::size_t n, std::uint64_t* numbers) {
        hash_keys(*keys.type(), keys.of(rows, n), n, numbers, custom);
        for (std::size_t i = 0; i < n; ++i) numbers[i] = partitions.of(numbers[i]);
      });
}

// The largest keys of partitions, of which the last row in the order of keys is known; partitions without rows have none.
struct largest_keys {
  rows_buffer keys;
  std::vector<std::size_t> partitions;  // whose they are
};
largest_keys largest_of_partitions(const planner::vertex& v, std::shared_ptr<made_tables> sorted, std::size_t parts, const key_order& own,
                                   const vertex_tasks& tasks) {
  const auto n = static_cast<std::size_t>(sorted->size());
  keys_of_rows keys(v, tasks.pool());
  largest_keys largest{rows_buffer(keys.type(), tasks.pool()), {}};
  table_pass pass(std::move(sorted), tasks.context());
  std::size_t p = 1, end = runtime::even_end(n, parts, 1), begin = 0, first = 0;  // first: row of the table
  std::optional<rows_buffer> last;                                                // the key of the row before `end`
  const auto next_partition = [&] {
    begin = end;
    end = std::max(end, runtime::even_end(n, parts, ++p));
  };
  for (detail::table t; p <= parts && pass.next(t); first += t.n) {
    const detail::stop_point stop;
    while (p <= parts && (end == 0 || end - 1 < first + t.n)) {
      if (end == begin && !last) {  // no rows
        next_partition();
        continue;
      }
      if (!last) {
        last.emplace(keys.type(), tasks.pool());
        last->append_rows(keys.of(row_at(t, end - 1 - first), 1), 1);
      }
      bool ties = true;  // with the row at `end`, whose partition this is then
      while (end < n && end < first + t.n) {
        stop.check();
        rows_buffer both(keys.type(), tasks.pool());
        both.append_rows(last->data(), 1);
        both.append_rows(keys.of(row_at(t, end - first), 1), 1);
        const sort_key key{.type = keys.type(), .base = both.data(), .stride = keys.type()->size, .custom = own};
        if (!(ties = compare_rows({&key, 1}, 0, 1) == 0)) break;
        ++end;
      }
      if (end < n && end == first + t.n && ties) break;  // the next table goes on with them
      largest.keys.append_rows(last->data(), 1);
      largest.partitions.push_back(p - 1);
      last.reset();
      next_partition();
    }
  }
  return largest;
}

// The rows are sorted by their keys, for the largest one of each partition; then each finds its partition by these.
runtime::vertex_rows by_range_beyond_memory(const planner::vertex& v, const collected_rows& in, std::size_t parts,
                                            const vertex_tasks& tasks) {
  runtime::run_context& context = tasks.context();
  const ir::type* const row = v.node->row;
  const branch_of_rows all(row, in.as_vertex_rows(), context);
  const key_order own = v.node->order.empty() ? key_order{} : order_of(v.node->order.front().custom);
  largest_keys largest{rows_buffer(v.node->functions[0].result, tasks.pool()), {}};
  {
    auto order = std::make_shared<detail::logical>(*v.node);
    order->what = detail::verb::order_by;
    order->order = {{.custom = v.node->order.empty() ? detail::order_calls{} : v.node->order.front().custom}};
    planner::vertex sort;
    sort.node = order.get();
    sort.captures = v.captures;
    sort.interpreted = v.interpreted;
    sort.inputs.push_back(all.get());
    const branch_of_rows sorted(row, order_rows(sort, context), context);
    largest = largest_of_partitions(v, collect_as_memory_allows(sorted.get(), {}, context).as_made(context), parts, own, tasks);
  }
  const ir::type* const type = largest.keys.type();
  const sort_key bounds{.type = type, .base = largest.keys.data(), .stride = type->size, .custom = own};
  pipeline p(all.get(), v.captures, context, false, true);
  return partitions_beyond_memory(v, parts, tasks)
      .rows(p, in.row_heap, in.rows.table.owner, [&](keys_of_rows& keys, const void* rows, std::size_t n, std::uint64_t* numbers) {
        const sort_key key{.type = type, .base = keys.of(rows, n), .stride = type->size, .custom = own};
        for (std::size_t i = 0; i < n; ++i) {
          std::size_t first = 0;
          for (std::size_t left = largest.partitions.size(); left > 1;) {
            const std::size_t half = left / 2;
            if (compare_rows({&bounds, 1}, first + half - 1, {&key, 1}, i) < 0) first += half, left -= half;
            else left = half;
          }
          numbers[i] = largest.partitions[first];
        }
      });
}

detail::table in_memory(const planner::vertex& v, const input_rows& input, std::size_t parts, const vertex_tasks& tasks) {
  placed_rows placed =
      static_cast<way>(v.node->step) == way::hash ? by_hash(v, input.table, tasks) : by_range(v, input.table, parts, tasks);
  // Whoever names no number does not ask for empty partitions either.
  if (!v.node->count) placed.ends = runtime::ends_without_empty(std::move(placed.ends));
  return with_bounds(take_rows_by_id(input, placed.order, tasks), std::move(placed.ends));
}

}  // namespace

runtime::vertex_rows partition_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  if (v.node->count > planner::most_partitions)
    detail::fail(v.node->label, "more than 1048576 partitions: " + std::to_string(v.node->count), v.node->where);
  runtime::run_context& context = tasks.context();
  const bool runs = static_cast<way>(v.node->step) == way::runs;
  const ir::type* const row = v.node->row;
  // Keys, what they are sorted by, row numbers, and the rows once more.
  constexpr std::size_t order_bytes = 6 * sizeof(std::uint64_t);
  const std::size_t beside = runs ? 0 : row->size + v.node->functions[0].result->size + order_bytes;
  const collected_rows in = collect_as_memory_allows(v.inputs[0], v.captures, context, beside);
  const auto n = static_cast<std::size_t>(in.size());
  const partition_numbers numbers(v, n, context);
  const std::size_t parts = numbers.count();
  if (n == 0) return in.partitioned(std::vector<std::size_t>(v.node->count ? parts : 0));
  if (runs) {
    std::vector<std::size_t> ends;
    for (std::size_t p = 1; p <= parts; ++p) ends.push_back(even_end(n, parts, p));
    return in.partitioned(std::move(ends));
  }
  const bool may_leave = may_leave_memory(row, context) && may_leave_memory(v.node->functions[0].result, context);
  if (!in.made && (!may_leave || in.rows.fresh || has_room_for(n, beside + in.row_heap, context))) {
    try {
      return in_memory(v, in.rows, parts, tasks);
    } catch (const resource_error&) {  // keys and copies own more than was expected; rows of others have not moved
      if (!may_leave || in.rows.fresh) throw;
    }
  }
  if (!may_leave) return in_memory(v, {in.rows.table, false}, parts, tasks);
  if (static_cast<way>(v.node->step) == way::range) return by_range_beyond_memory(v, in, parts, tasks);
  const branch_of_rows all(row, in.as_vertex_rows(), context);
  pipeline p(all.get(), v.captures, context, false, true);
  return by_hash_beyond_memory(v, p, in.row_heap, numbers, in.rows.table.owner, tasks);
}

}  // namespace query::cpu
