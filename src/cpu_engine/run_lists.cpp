#include "cpu_engine/run_lists.hpp"

#include <algorithm>
#include <cstring>

#include <query/detail/stop.hpp>

#include "ir/analysis.hpp"

namespace query::cpu {

// A string may grow when it is assigned, and this memory is not counted. If memory is limited, lists of such rows are not used again.
bool run_lists::can_make(const ir::type* list, std::uint64_t length, const runtime::buffer_pool& pool) {
  constexpr std::uint64_t most_rows = 4096;
  return length <= most_rows && ir::can_be_filled(list) && list->life.construct && (!pool.limit() || list->element->trivial);
}

// The lists of the previous piece, if no reader holds them or has moved their contents away; otherwise new ones.
rows_buffer& run_lists::free_lists() {
  rows_buffer* lists = rows_buffer::owner_of(given_);
  if (!lists || given_.owner.use_count() != 1 || lists->heap().bytes() != counted_) {
    given_ = rows_buffer(list_, *pool_).to_table();
    lists = rows_buffer::owner_of(given_);
  }
  return *lists;
}

void run_lists::fill(void* lists, const std::byte* rows, const detail::row_runs& runs, std::size_t a_task,
                     const vertex_tasks& tasks) const {
  const ir::type& row = *list_->element;
  tasks.for_each((runs.count + a_task - 1) / a_task, [&](std::size_t t) {
    const detail::stop_point stop;
    const std::size_t first = t * a_task, end = std::min(runs.count, first + a_task);
    const std::byte* from = rows + first * runs.step * row.size;
    std::byte* list = static_cast<std::byte*>(lists) + first * list_->size;
    for (std::size_t i = first; i < end; ++i, from += runs.step * row.size, list += list_->size) {
      auto* const to = static_cast<std::byte*>(list_->get.resize(list, runs.length));
      if (row.trivial) std::memcpy(to, from, runs.length * row.size);
      else
        for (std::size_t k = 0; k < runs.length; ++k) row.life.copy_assign(to + k * row.size, from + k * row.size);
    }
    stop.check();
  });
}

detail::table run_lists::of(const detail::table& rows, const detail::row_runs& runs, std::size_t a_task, const vertex_tasks& tasks) {
  rows_buffer& lists = free_lists();
  lists.reserve(runs.count);
  // Memory of new lists is counted after every few lists, so that a session's limit is noticed early.
  constexpr std::size_t counted_bytes = std::size_t{1} << 20;
  const std::size_t at_once = std::max(a_task, counted_bytes / std::max<std::size_t>(1, runs.length * list_->element->size));
  for (std::size_t done = 0; done < runs.count;) {
    const auto* const from = static_cast<const std::byte*>(rows.rows) + done * runs.step * list_->element->size;
    const bool again = done < lists.size();
    std::size_t n = std::min(runs.count, lists.size()) - done;
    if (!again) {
      n = std::min(heap_charge::counts(*list_, *pool_) ? at_once : runs.count, runs.count - done);
      list_->life.construct(lists.extend(n), n);
      lists.grow(n);
    }
    fill(lists.at(done), from, {runs.length, runs.step, n}, a_task, tasks);
    if (!again) lists.heap().add(*list_, lists.at(done), n, *pool_);
    done += n;
  }
  counted_ = lists.heap().bytes();
  given_.rows = lists.data();
  given_.n = runs.count;
  return given_;
}

}  // namespace query::cpu
