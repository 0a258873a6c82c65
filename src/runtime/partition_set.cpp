#include "runtime/partition_set.hpp"

#include <algorithm>
#include <utility>

#include <query/errors.hpp>

#include "planner/cluster_graph.hpp"
#include "planner/rules/edges.hpp"
#include "runtime/partition_bounds.hpp"

namespace query::runtime {

using planner::vertex;
using way = planner::exchange;

partition_set::partition_set(planner::machine_graph& first, session_state& session, run_context& context,
                             std::shared_ptr<const cluster::prepared> sent)
    : session_(&session), sent_(std::move(sent)) {
  all_.resize(sent_ ? 1 : static_cast<std::size_t>(first.partitions));
  for (std::size_t p = 1; p < all_.size(); ++p) {
    partition& part = all_[p];
    planner::graph_copy copy = planner::copy_of(first);
    part.own_graph = std::move(copy.graph);
    part.graph = part.own_graph.get();
    part.of = std::move(copy.of);
    part.own_context.reset(new run_context{context.scheduler, context.pool, context.cancel});
    part.context = part.own_context.get();
    part.context->verify = context.verify;
    part.context->local = context.local;
    part.context->temp = context.temp;
    part.context->progress = context.progress;
    part.context->profile = context.profile;
    part.context->pieces = context.pieces;
  }
  all_[0].graph = &first;
  all_[0].context = &context;
  for (std::size_t p = 0; p < all_.size(); ++p) divide_sources(all_[p], p);
}

void partition_set::divide_sources(partition& p, std::size_t number) {
  const auto divide = [&](planner::branch& b, int partitions) {
    if (partitions == 1 || !planner::is_divided(b)) return;
    detail::row_block whole;
    b.source->view(b.source->source.get(), whole);
    const auto end = [&](std::size_t part) { return part ? even_end(whole.n, static_cast<std::size_t>(partitions), part) : 0; };
    p.parts_of_sources.emplace_back(*b.source, end(number), end(number + 1));
    b.source = p.parts_of_sources.back().node();
  };
  for (const auto& v : p.graph->vertices)
    for (planner::branch& b : v->inputs) divide(b, v->partitions);
  divide(p.graph->result, p.graph->result_partitions);
}

void partition_set::leads(executor& first) {
  first_ = &first;
  for (partition& p : all_) {
    if (p.context == all_[0].context) continue;
    p.context->tables.clear();
    p.context->too_large.clear();
    p.runs = std::make_unique<executor>(*p.graph, *session_, *p.context);
    p.runs->begin();
  }
  others_.clear();
  if (sent_) others_ = session_->processes->begin(*sent_, *all_[0].graph, *all_[0].context);
}

void partition_set::run(const vertex& v) {
  if (v.moves) return exchange(v);
  if (v.partitions > 1)
    for (const auto& p : others_) p->run(v);
  for (std::size_t p = 0; p < std::min(all_.size(), static_cast<std::size_t>(v.partitions)); ++p) {
    const vertex& here = all_[p].mine(v);
    if (p && all_[p].context->left_to_joins.contains(&here)) {
      if (all_[p].context->progress) all_[p].context->progress->vertex_done();
    } else {
      runs(p).run_here(here);
    }
  }
  if (v.partitions > 1)
    for (const auto& p : others_) {
      p->finish();
      if (all_[0].context->progress) all_[0].context->progress->vertex_done();
    }
}

row_pages partition_set::taken_apart(const detail::table& rows, std::size_t first, std::size_t end, run_context& context) {
  detail::table part = rows;
  part.rows = static_cast<const std::byte*>(rows.rows) + first * rows.type->size;
  part.n = end - first;
  row_pages pages = part.n ? session_->cpu->pages_of(part, context) : row_pages{};
  for (const row_page& page : pages) {
    session_->sent_rows += page.rows;
    session_->sent_bytes += page.bytes.size();
  }
  return pages;
}

// What partition p has for each receiver; for all the same, where the way is no hash.
std::vector<row_pages> partition_set::taken_apart_for_receivers(const vertex& v, std::size_t p) {
  std::vector<row_pages> sent;
  const vertex& here = all_[p].mine(v);
  run_context& context = *all_[p].context;
  runs(p).run_here(here);
  runs(p).in_name_of(here, [&] {
    const detail::table rows = context.table_of(here);
    if (v.moves != way::hash) return sent.push_back(taken_apart(rows, 0, rows.n, context));
    sent.resize(parts());
    if (!rows.n) return;
    const partition_bounds* bounds = bounds_of(rows);
    if (!bounds) throw internal_error("query: an exchange has no partitions");
    for (std::size_t r = 0; r < sent.size(); ++r)
      sent[r] = taken_apart(rows, r ? bounds->ends[r - 1] : 0, bounds->ends[r], context);
  });
  context.tables.erase(&here);
  return sent;
}

// Receivers have the rows in the order of senders, so that what was in order in partitions one after the other is in order in each of them.
void partition_set::exchange(const vertex& v) {
  const bool each_its_own = v.moves == way::hash;
  const std::size_t receivers = v.moves == way::gather ? 1 : parts();
  std::vector<std::vector<row_pages>> sent;  // of each sender
  if (v.partitions > 1)
    for (const auto& p : others_) p->send(v);
  for (std::size_t p = 0; p < std::min(all_.size(), static_cast<std::size_t>(v.partitions)); ++p)
    sent.push_back(taken_apart_for_receivers(v, p));
  if (v.partitions > 1)
    for (const auto& p : others_) {
      sent.push_back(p->sent(each_its_own ? receivers : 1));
      for (const row_pages& pages : sent.back())
        for (const row_page& page : pages) {
          session_->sent_rows += page.rows;
          session_->sent_bytes += page.bytes.size();
        }
    }
  for (std::size_t r = 0; r < receivers; ++r) {
    std::vector<const row_page*> inbox;
    for (const auto& of_sender : sent)
      for (const row_page& page : of_sender[each_its_own ? r : 0]) inbox.push_back(&page);
    if (r >= all_.size()) {
      others_[r - all_.size()]->receive(v, inbox);
    } else {
      const vertex& there = all_[r].mine(v);
      runs(r).in_name_of(there, [&] { all_[r].context->tables[&there] = session_->cpu->rows_of(v.row(), inbox, *all_[r].context); });
    }
    if (each_its_own)
      for (auto& of_sender : sent) of_sender[r].clear();
  }
  for (const auto& p : others_) p->finish();
}

void partition_set::forget(const vertex& v) {
  for (std::size_t p = 1; p < all_.size(); ++p) all_[p].context->tables.erase(&all_[p].mine(v));
  if (v.partitions > 1 || v.moves)
    for (const auto& p : others_) p->forget(v);
}

std::optional<std::uint64_t> partition_set::rows_of_result() const {
  std::uint64_t rows = 0;
  const auto partitions = static_cast<std::size_t>(all_[0].graph->result_partitions);
  if (partitions > 1 && !others_.empty()) return std::nullopt;
  for (std::size_t p = 0; p < partitions; ++p) {
    const auto r = all_[p].context->tables.find(all_[p].graph->result.table);
    if (r == all_[p].context->tables.end()) return std::nullopt;
    rows += r->second.here() ? r->second.rows.n : r->second.kept->size();
  }
  return rows;
}

void partition_set::verify_result() {
  const auto partitions = static_cast<std::size_t>(all_[0].graph->result_partitions);
  for (std::size_t p = 0; p < std::min(all_.size(), partitions); ++p)
    session_->cpu->verify(all_[p].graph->result, all_[p].graph->captures, *all_[p].context);
  if (partitions == 1) return;
  for (const auto& p : others_) p->verify_result();
  for (const auto& p : others_) p->finish();
}

void partition_set::count_pieces() {
  for (const partition& p : all_) {
    if (!p.own_context) continue;
    for (const auto& [verb, pieces] : p.context->of_vertices) {
      const counted_pieces first(*all_[0].context, verb);
      all_[0].context->pieces->add(*pieces);
    }
  }
}

void partition_set::fold(detail::fold_kind k, detail::fold_state& state) {
  const planner::machine_graph& g = *all_[0].graph;
  const auto partitions = static_cast<std::size_t>(g.result_partitions);
  const auto add = [&](const detail::fold_state& rest) {
    session_->cpu->merge(k, g.result.row, state, rest);
    if (all_[0].context->progress) all_[0].context->progress->vertex_done();
  };
  if (partitions > 1)
    for (const auto& p : others_) p->fold(k);
  for (std::size_t p = 0; p < std::min(all_.size(), partitions); ++p) {
    const partition& part = all_[p];
    if (p == 0) {
      session_->cpu->fold(part.graph->result, part.graph->captures, k, state, *part.context);
      continue;
    }
    detail::fold_state rest;
    session_->cpu->fold(part.graph->result, part.graph->captures, k, rest, *part.context);
    add(rest);
  }
  if (partitions > 1)
    for (const auto& p : others_) add(p->folded());
}

}  // namespace query::runtime
