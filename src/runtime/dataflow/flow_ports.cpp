#include "runtime/dataflow/flow_ports.hpp"

#include <algorithm>
#include <cstring>

namespace query::runtime {

using detail::flow_item;
using detail::flow_route;
using detail::flow_rows;

flow_item receiving_port::receive() {
  flow_item i;
  std::unique_lock held = run_->hold();
  run_->wait(held, *vertex_, "rows of '", [&]() -> const std::string& { return from_->name(); }, [&] { return from_->poll(i); });
  return i;
}

void receiving_port::leave() {
  std::vector<flow_item> left;
  const std::unique_lock held = run_->hold();
  for (channel* e : edges_) {
    for (flow_item& i : e->leave()) left.push_back(std::move(i));
  }
}

sending_port::sending_port(monitor& run, seat& vertex, std::vector<route> routes, const std::vector<channel*>& forward, block_pool& pool,
                           std::size_t rows_of_block)
    : run_(&run), vertex_(&vertex), routes_(std::move(routes)), forward_(&forward), pool_(&pool), rows_of_block_(rows_of_block) {
  has_predicates_ = std::any_of(routes_.begin(), routes_.end(), [](const route& r) { return r.plan->f || r.plan->otherwise; });
}

void sending_port::push(flow_rows rows) {
  if (!open_.any()) tell(dataflow::signal::begin_stream);
  check_readers();
  parts_.clear();  // of a push whose predicate threw: its vertex may go on
  if (has_predicates_) {
    split(rows);
  } else {
    for (const route& r : routes_) parts_.emplace_back(r.to, rows);
  }
  rows = {};  // a lone reader shall find them its own, and may change them in place
  for (auto& [to, part] : parts_) send(*to, {.what = flow_item::kind::rows, .rows = std::move(part)});
  parts_.clear();
}

void sending_port::tell(dataflow::signal s) {
  const std::uint32_t depth = open_.tell(s, vertex_->name);
  for (const route& r : routes_) send(*r.to, {.what = flow_item::kind::scope, .scope = s, .depth = depth});
}

void sending_port::finish() {
  while (const auto s = open_.innermost_end()) tell(*s);
  const std::unique_lock held = run_->hold();
  for (const route& r : routes_) r.to->end();
}

void sending_port::check_readers() {
  const std::unique_lock held = run_->hold();
  if (forward_->empty() || std::any_of(forward_->begin(), forward_->end(), [](const channel* e) { return e->read(); })) return;
  throw readers_gone();
}

void sending_port::send(channel& to, flow_item i) {
  std::unique_lock held = run_->hold();
  run_->wait(held, *vertex_, "room in '", [&]() -> const std::string& { return to.name(); }, [&] { return !to.read() || !to.full(); });
  if (to.read()) to.put(std::move(i));
}

void sending_port::split(const flow_rows& rows) {
  const std::size_t n = rows.size();
  if (n > marks_) {
    takes_ = std::make_unique<bool[]>(n);
    taken_ = std::make_unique<bool[]>(n);
    marks_ = n;
  }
  bool* const takes = takes_.get();
  bool* const taken = taken_.get();
  std::fill_n(taken, n, false);
  for (const route& r : routes_) {
    const flow_route& p = *r.plan;
    if (p.otherwise) continue;
    if (p.mark) {
      p.mark(p.f.get(), rows->rows, n, takes);
      for (std::size_t i = 0; i < n; ++i) taken[i] |= takes[i];
    } else {
      const bool all = !p.whole || p.whole(p.f.get(), rows);
      std::fill_n(takes, n, all);
      if (p.whole && all) std::fill_n(taken, n, true);
    }
    if (flow_rows some = picked(rows, takes, n)) parts_.emplace_back(r.to, std::move(some));
  }
  for (std::size_t i = 0; i < n; ++i) taken[i] = !taken[i];
  for (const route& r : routes_) {
    if (!r.plan->otherwise) continue;
    if (flow_rows some = picked(rows, taken, n)) parts_.emplace_back(r.to, std::move(some));
  }
}

// The rows that are marked: the block itself if all are, nothing if none is.
flow_rows sending_port::picked(const flow_rows& rows, const bool* takes, std::size_t n) {
  const auto count = static_cast<std::size_t>(std::count(takes, takes + n, true));
  if (count == n) return rows;
  if (!count) return {};
  const ir::type& row = *rows->row;
  flow_rows some = pool_->fresh(&row, std::max(count, rows_of_block_));
  for (std::size_t i = 0; i < n;) {
    if (!takes[i]) {
      ++i;
      continue;
    }
    const auto end = static_cast<std::size_t>(std::find(takes + i, takes + n, false) - takes);
    void* const to = static_cast<std::byte*>(some->rows) + some->n * row.size;
    const void* const from = static_cast<const std::byte*>(rows->rows) + i * row.size;
    if (row.trivial) std::memcpy(to, from, (end - i) * row.size);
    else row.life.copy(to, from, end - i);
    some->n += end - i;
    i = end;
  }
  return some;
}

}  // namespace query::runtime
