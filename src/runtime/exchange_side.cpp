#include "runtime/exchange_side.hpp"

#include <utility>

#include <query/errors.hpp>

#include "planner/partitions.hpp"

namespace query::runtime {

using planner::vertex;

std::vector<const row_page*> in_order(const std::vector<const row_pages*>& of_senders) {
  std::vector<const row_page*> all;
  for (const row_pages* pages : of_senders)
    for (const row_page& page : *pages) all.push_back(&page);
  return all;
}

std::size_t exchange_side::run(const vertex& v, const steps& of) {
  const auto there = to_send_.find(&v);
  if (there != to_send_.end() && there->second != of) {  // of a round that was given up
    context_->tables.erase(&v);
    runs_->run_here(v);
    there->second = of;
  } else if (there == to_send_.end()) {
    if (auto known = context_->tables.extract(&v)) received_[&v] = std::move(known.mapped());
    runs_->run_here(v);
    to_send_[&v] = of;
  }
  const vertex_rows& rows = context_->tables.at(&v);
  return static_cast<std::size_t>(rows.here() ? rows.rows.n : rows.kept->size());
}

row_pages exchange_side::pages_of(const detail::table& rows, std::size_t first, std::size_t end) {
  detail::table part = rows;
  part.rows = static_cast<const std::byte*>(rows.rows) + first * rows.type->size;
  part.n = end - first;
  return part.n ? session_->cpu->pages_of(part, *context_) : row_pages{};
}

row_pages exchange_side::sample(const vertex& v, const steps& of, std::size_t share) {
  row_pages pages;
  run(v, of);
  runs_->in_name_of(v, [&] {
    const detail::table some = session_->cpu->sample_of(v, context_->tables.at(&v), share, *context_);
    pages = pages_of(some, 0, some.n);
  });
  return pages;
}

row_pages exchange_side::begins_of_ranges(const vertex& v, std::span<const row_page* const> samples, std::size_t partitions) {
  row_pages pages;
  runs_->in_name_of(v, [&] {
    const detail::table some = session_->cpu->rows_of(v.row(), samples, *context_);
    const detail::table begins = session_->cpu->begins_of_ranges(v, some, partitions, *context_);
    pages = pages_of(begins, 0, begins.n);
  });
  return pages;
}

std::vector<std::uint64_t> exchange_side::rows_by_hash(const vertex& v, const steps& of, std::size_t receivers) {
  std::vector<std::uint64_t> rows;
  run(v, of);
  runs_->in_name_of(v, [&] { rows = session_->cpu->rows_by_hash(v, context_->tables.at(&v), receivers, *context_); });
  return rows;
}

std::vector<std::uint64_t> exchange_side::sample_hashes(const vertex& v, const steps& of, std::size_t share) {
  std::vector<std::uint64_t> hashes;
  run(v, of);
  runs_->in_name_of(v, [&] { hashes = session_->cpu->sample_hashes(v, context_->tables.at(&v), share, *context_); });
  return hashes;
}

void exchange_side::send(const vertex& v, const steps& of, std::size_t receivers, const row_pages& begins, const heavy_keys& heavy,
                         bucket_sink take) {
  run(v, of);
  runs_->in_name_of(v, [&] {
    if (planner::sends_states(v)) {
      session_->cpu->pages_of_states(v, context_->tables.at(&v), receivers, take, *context_);
      return;
    }
    detail::table first_rows;
    const bool by_range = v.moves == planner::exchange::range;
    const ir::type* const of_begins = planner::sends_by_place(v) ? ir::describe<std::uint64_t>() : v.row();
    if (by_range) first_rows = session_->cpu->rows_of(of_begins, in_order({&begins}), *context_);
    session_->cpu->send_rows(v, context_->tables.at(&v), receivers, by_range ? &first_rows : nullptr, heavy, take, *context_);
  });
  context_->tables.erase(&v);
  to_send_.erase(&v);
  if (auto known = received_.extract(&v)) context_->tables[&v] = std::move(known.mapped());
}

void exchange_side::receive(const vertex& v, page_feed& pages) {
  runs_->in_name_of(v, [&] {
    context_->tables[&v] = planner::sends_states(v) ? session_->cpu->states_of(v, pages, *context_)
                                                    : session_->cpu->receive_rows(v.row(), pages, *context_);
  });
}

}  // namespace query::runtime
