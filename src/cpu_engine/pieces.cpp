#include "cpu_engine/pieces.hpp"

#include <query/cpu/segment_form.hpp>
#include <query/errors.hpp>

namespace query::cpu {

detail::table piece::to_table() && {
  if (own_) return std::move(*own_).to_table();
  return std::move(lent_);
}

std::size_t rows_in(const std::vector<piece>& pieces) {
  std::size_t n = 0;
  for (const piece& p : pieces) n += p.size();
  return n;
}

std::size_t row_heap_in(const std::vector<piece>& pieces) {
  std::size_t bytes = 0;
  for (const piece& p : pieces) bytes += p.heap_bytes();
  const std::size_t rows = rows_in(pieces);
  return rows ? (bytes + rows - 1) / rows : 0;
}

detail::table side_by_side(std::vector<piece> pieces, const ir::type* type, const vertex_tasks& tasks) {
  std::erase_if(pieces, [](const piece& p) { return p.size() == 0; });
  if (pieces.size() == 1) return std::move(pieces[0]).to_table();
  std::vector<std::size_t> ends;
  std::size_t total = 0;
  for (const piece& p : pieces) ends.push_back(total += p.size());
  heap_charge moved;
  const bool all_move = std::all_of(pieces.begin(), pieces.end(), [](piece& p) { return p.own() != nullptr; });
  for (piece& p : pieces)
    if (all_move) moved.take(p.own()->heap());
  return construct_rows(type, total, tasks, [&](std::size_t first, std::size_t k, void* out) {
    new_rows made(type, out);
    auto i = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), first) - ends.begin());
    for (std::size_t done = 0; done < k;) {
      const piece& p = pieces[i];
      const std::size_t within = first + done - (ends[i] - p.size());
      const std::size_t m = std::min({k - done, p.size() - within, batch_rows});
      tasks.cancel().check();
      if (p.movable()) move_rows(type, made.end(), static_cast<std::byte*>(p.movable()) + within * type->size, m);
      else copy_rows(type, made.end(), row_at(p.data(), type, within), m);
      made.grow(m);
      done += m;
      if (within + m == p.size()) ++i;
    }
    made.release();
  }, all_move ? &moved : nullptr).to_table();
}

std::size_t parts_at_once(const runtime::run_context& context, std::size_t part_bytes) {
  const std::size_t most = 4 * static_cast<std::size_t>(std::max(1, context.scheduler.concurrency())), limit = context.pool.limit();
  return limit ? std::clamp<std::size_t>(limit / 16 / part_bytes, 1, most) : most;
}

namespace {

// False: the pipeline had ended.
bool run_window(pipeline& p, std::size_t most, const ir::type* out, part_windows::body f, std::vector<piece>& to) {
  std::vector<rows_buffer> given;
  given.reserve(most);
  for (std::size_t i = 0; i < most; ++i) given.emplace_back(out, p.context().pool);
  const std::size_t first = p.next_part();
  const bool any = p.run_some(most, [&](const pipeline::part& part) { f(part, given[part.index - first]); });
  for (rows_buffer& rows : given)
    if (rows.size()) to.emplace_back(std::move(rows));
  return any;
}

}  // namespace

bool collect_while_it_fits(pipeline& p, std::size_t window, rows_fit fits, std::vector<piece>& to) {
  const auto append = [](const pipeline::part& part, rows_buffer& out) {
    append_rows_sink sink(out);
    part.run(sink);
  };
  while (fits(rows_in(to), row_heap_in(to))) {
    try {
      if (!run_window(p, window, p.row(), append, to)) return true;
    } catch (const resource_error&) {  // for what the rows own; those of a source that stays come again
      if (!p.source_rows() || p.made_as_read()) throw;
      return false;
    }
  }
  return false;
}

bool part_windows::run(std::size_t most, const ir::type* out, body f, std::vector<piece>& to) {
  if (ended_) return false;
  if (!run_window(*pipeline_, most, out, f, to)) {
    ended_ = true;
    return false;
  }
  next_ = pipeline_->next_part();
  if (const auto all = pipeline_->parts(); all && next_ >= *all) ended_ = true;
  return true;
}

bool part_windows::run_next(const ir::type* out, body f, std::vector<piece>& to) {
  const std::size_t most = most_at_once(out);
  const std::size_t window = std::min(window_, most);
  window_ = std::min(2 * window_, most);
  return run(window, out, f, to);
}

void part_windows::run_rest(const ir::type* out, body f, std::vector<piece>& to) {
  if (const auto all = pipeline_->parts()) {
    if (*all > next_) run(*all - next_, out, f, to);
    ended_ = true;
    return;
  }
  while (run(most_at_once(out), out, f, to)) {
  }
}

}  // namespace query::cpu
