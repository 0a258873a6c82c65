#include "cpu_engine/vertex_tasks.hpp"

#include <mutex>

#include <query/cpu/segment_form.hpp>
#include <query/detail/stop.hpp>

namespace query::cpu {

void vertex_tasks::for_each(std::size_t n, function_ref<void(std::size_t)> f) const {
  scheduler().for_each(
      n,
      [&](std::size_t i) {
        const detail::binding_scope bound(bindings_);
        f(i);
      },
      cancel());
}

void vertex_tasks::chunks(std::size_t n, function_ref<void(std::size_t, std::size_t)> f) const {
  for_each(chunks_of(n), [&](std::size_t c) { f(c * part_rows, std::min(part_rows, n - c * part_rows)); });
}

namespace {

// The rows of a chunk, in steps that are counted.
void fill_counted(const ir::type* type, std::size_t first, std::size_t n, void* out,
                  function_ref<void(std::size_t, std::size_t, void*)> fill, heap_charge& heap, const runtime::buffer_pool& pool) {
  new_rows made(type, out);
  heap_steps steps(true);
  for (std::size_t done = 0; done < n;) {
    const std::size_t k = steps.next(n - done), before = heap.bytes();
    void* const at = made.end();
    fill(first + done, k, at);
    made.grow(k);
    heap.add(*type, at, k, pool);
    steps.made(k, heap.bytes() - before);
    done += k;
  }
  made.release();
}

}  // namespace

rows_buffer construct_rows(const ir::type* type, std::size_t n, const vertex_tasks& tasks,
                           function_ref<void(std::size_t, std::size_t, void*)> fill, heap_charge* moved) {
  rows_buffer rows(type, tasks.pool());
  if (n == 0) return rows;
  rows.reserve(n);
  std::byte* const base = static_cast<std::byte*>(rows.extend(n));
  std::vector<std::uint8_t> alive(type->trivial ? 0 : chunks_of(n));
  std::vector<row_run> runs;  // of those, if another chunk throws
  runs.reserve(alive.size());
  const bool counted = !moved && heap_charge::counts(*type, tasks.pool());
  std::mutex lock;
  heap_charge heap;  // of chunks that are alive
  if (moved) heap.take(*moved);
  try {
    tasks.chunks(n, [&](std::size_t first, std::size_t k) {
      if (!counted) {
        fill(first, k, base + first * type->size);
      } else {
        heap_charge of_chunk;
        fill_counted(type, first, k, base + first * type->size, fill, of_chunk, tasks.pool());
        const std::lock_guard hold(lock);
        heap.take(of_chunk);
      }
      if (!alive.empty()) alive[first / part_rows] = 1;
    });
  } catch (...) {
    for (std::size_t c = 0; c < alive.size(); ++c)
      if (alive[c]) runs.push_back({c * part_rows, std::min(part_rows, n - c * part_rows)});
    rows.heap().take(heap);
    discard_rows(std::move(rows), std::move(runs));
    throw;
  }
  rows.grow(n, heap);
  if (counted) rows.heap().charge_all(tasks.pool());
  return rows;
}

input_rows collect_input(const planner::vertex& v, std::size_t input, const vertex_tasks& tasks) {
  const planner::branch& b = v.inputs[input];
  return {collect(b, v.captures, tasks.context()), !b.stages.empty() || !b.prefilters.empty()};
}

template <class Id> detail::table take_rows_by_id(const input_rows& source, const Id* ids, std::size_t n, const vertex_tasks& tasks) {
  const detail::table& from = source.table;
  const ir::type* type = from.type;
  const bool move = source.fresh && !type->trivial && type->life.move;
  rows_buffer* const owner = move ? rows_buffer::owner_of(from) : nullptr;
  const bool all = owner && n == from.n && owner->size() == n;
  if (owner && !all) owner->heap().clear();  // counted again as they move; the others go soon
  return construct_rows(type, n, tasks, [&](std::size_t first, std::size_t k, void* out) {
    if (!move) {
      gather_rows(type, out, from.rows, ids + first, k);
      return;
    }
    new_rows made(type, out);
    detail::in_runs<batch_rows>(0, k, [&](std::size_t i, std::size_t end) {
      for (; i < end; ++i) {
        move_rows(type, made.end(), const_cast<std::byte*>(row_at(from, static_cast<std::size_t>(ids[first + i]))), 1);
        made.grow(1);
      }
    });
    made.release();
  }, all ? &owner->heap() : nullptr).to_table();
}
template detail::table take_rows_by_id<std::uint32_t>(const input_rows&, const std::uint32_t*, std::size_t, const vertex_tasks&);
template detail::table take_rows_by_id<std::uint64_t>(const input_rows&, const std::uint64_t*, std::size_t, const vertex_tasks&);

detail::table take_rows_by_id(const input_rows& from, const permutation& ids, const vertex_tasks& tasks) {
  return ids.visit([&](const auto* id) { return take_rows_by_id(from, id, ids.size(), tasks); });
}

detail::table slice(const detail::table& t, std::uint64_t first, std::uint64_t n) {
  detail::table part = t;
  const auto from = static_cast<std::size_t>(std::min<std::uint64_t>(first, t.n));
  part.n = static_cast<std::size_t>(std::min<std::uint64_t>(n, t.n - from));
  if (from) part.rows = row_at(t, from);
  return part;
}

}  // namespace query::cpu
