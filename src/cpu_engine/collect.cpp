// Rows of a branch side by side.
#include <algorithm>
#include <mutex>

#include "cpu_engine/pipeline.hpp"
#include "cpu_engine/vertex_tasks.hpp"
#include "runtime/shared_rows.hpp"

namespace query::cpu {

namespace {

class append_sink final : public detail::batch_sink {
 public:
  explicit append_sink(rows_buffer& to) : to_(&to) {}
  void push(const detail::row_block& b) override { to_->append(b); }

 private:
  rows_buffer* to_;
};

// Writes at a known place of a table whose length is known. Rows count as alive only when all parts have ended.
class place_sink final : public detail::batch_sink {
 public:
  place_sink(const ir::type* t, std::byte* at, const runtime::buffer_pool& pool)
      : type_(t), start_(at), at_(at), pool_(&pool), counted_(heap_charge::counts(*t, pool)) {}
  void push(const detail::row_block& b) override {
    heap_steps steps(counted_ && !b.owned);
    for (std::size_t done = 0; done < b.n;) {
      const std::size_t k = steps.next(b.n - done), before = heap_.bytes();
      auto* const from = static_cast<std::byte*>(b.rows) + done * type_->size;
      if (b.owned) move_rows(type_, at_, from, k);
      else copy_rows(type_, at_, from, k);
      at_ += k * type_->size;
      done += k;
      if (!counted_) continue;
      heap_.add(*type_, at_ - k * type_->size, k, *pool_);
      steps.made(k, heap_.bytes() - before);
    }
  }
  void undo() { destroy_rows(type_, start_, written()); }
  std::size_t written() const { return static_cast<std::size_t>(at_ - start_) / type_->size; }
  heap_charge& heap() { return heap_; }
  row_run run_after(const std::byte* base) const { return {static_cast<std::size_t>(start_ - base) / type_->size, written()}; }

 private:
  const ir::type* type_;
  std::byte *start_, *at_;
  const runtime::buffer_pool* pool_;
  bool counted_;
  heap_charge heap_;
};

// Behind rows that have come before.
detail::table collect_in_place(pipeline& p, rows_buffer all, std::size_t n) {
  const std::size_t first_part = p.next_part();
  all.reserve(all.size() + n);
  std::byte* base = static_cast<std::byte*>(all.extend(n));
  const auto* const start = static_cast<const std::byte*>(all.data());
  std::mutex lock;
  std::vector<row_run> alive;  // rows that must be destroyed if another part throws
  heap_charge heap;            // theirs
  if (!p.row()->trivial) alive.reserve(p.parts().value_or(0));
  try {
    p.run_all([&](const pipeline::part& part) {
      place_sink sink(p.row(), base + (part.index - first_part) * p.rows_a_part() * p.row()->size, p.context().pool);
      try {
        part.run(sink);
      } catch (...) {
        sink.undo();
        throw;
      }
      if (!p.row()->trivial) {
        const std::lock_guard hold(lock);
        alive.push_back(sink.run_after(start));
        heap.take(sink.heap());
      }
    });
  } catch (...) {
    all.heap().take(heap);
    discard_rows(std::move(all), std::move(alive));
    throw;
  }
  runtime::shared_rows* const others = p.context().shared;
  if (others) others->in_place = true;
  all.grow(others ? std::min<std::size_t>(n, others->end()) : n, heap);
  all.heap().charge_all(p.context().pool);
  return std::move(all).to_table();
}

// The rows of a source of known length that have not run yet.
std::uint64_t rows_left(const pipeline& p) {
  const std::uint64_t n = *p.source_rows();
  return n - std::min<std::uint64_t>(n, p.next_part() * p.rows_a_part());
}

// All rows that are left, as far as the limit goes, behind rows that have come before.
detail::table collect_behind(pipeline& p, rows_buffer before, std::uint64_t limit) {
  runtime::run_context& context = p.context();
  if (limit == ~0ull && p.source_rows() && p.keeps_rows())
    return collect_in_place(p, std::move(before), static_cast<std::size_t>(rows_left(p)));
  std::size_t total = before.size();
  std::vector<rows_buffer> pieces;
  if (total) pieces.push_back(std::move(before));
  const bool all = limit == ~0ull;
  const std::size_t window =
      all && p.parts() ? std::max<std::size_t>(*p.parts(), 1) : static_cast<std::size_t>(context.scheduler.concurrency());
  while (total < limit) {
    const std::size_t base = pieces.size();
    for (std::size_t i = 0; i < window; ++i) pieces.emplace_back(p.row(), context.pool);
    const std::size_t first_part = p.next_part();
    const bool more = p.run_some(window, [&](const pipeline::part& part) {
      append_sink sink(pieces[base + part.index - first_part]);
      part.run(sink);
    });
    for (std::size_t i = base; i < pieces.size(); ++i) total += pieces[i].size();
    if (!more) break;
  }
  std::erase_if(pieces, [](const rows_buffer& r) { return r.size() == 0; });
  if (pieces.size() == 1) return std::move(pieces[0]).to_table();
  rows_buffer out(p.row(), context.pool);
  std::byte* base = static_cast<std::byte*>(out.extend(total ? total : 1));
  std::vector<std::size_t> starts;
  std::size_t at = 0;
  for (const rows_buffer& r : pieces) {
    starts.push_back(at);
    at += r.size();
  }
  if (p.row()->trivial) {
    context.scheduler.for_each(
        pieces.size(), [&](std::size_t i) { copy_rows(p.row(), base + starts[i] * p.row()->size, pieces[i].data(), pieces[i].size()); },
        context.cancel);
    out.grow(total);
  } else {
    for (rows_buffer& r : pieces) {
      context.cancel.check();
      out.take_all(r);
      r.clear();
    }
  }
  return std::move(out).to_table();
}

}  // namespace

detail::table collect(const planner::branch& b, const std::vector<planner::binding>& captures, runtime::run_context& context,
                      std::uint64_t limit) {
  const bool as_it_is = b.stages.empty() && b.prefilters.empty() && limit == ~0ull;  // then the source puts its rows side by side
  pipeline p(b, captures, context, false, !as_it_is);
  return collect_rest(p, limit);
}

detail::table collect_rest(pipeline& p, std::uint64_t limit) {
  if (limit == ~0ull && p.source_rows())
    if (const auto t = p.as_table()) {
      const std::uint64_t n = rows_left(p);
      p.context().rows_read(n);
      return slice(*t, *p.source_rows() - n, n);
    }
  return collect_behind(p, rows_buffer(p.row(), p.context().pool), limit);
}

detail::table collect_rest(pipeline& p, rows_buffer before) { return collect_behind(p, std::move(before), ~0ull); }

}  // namespace query::cpu
