#include "runtime/partition_set.hpp"

#include <utility>

#include <query/errors.hpp>

#include "planner/cluster_graph.hpp"
#include "planner/rules/edges.hpp"
#include "runtime/partition_bounds.hpp"

namespace query::runtime {

constexpr std::size_t samples_a_range = 256;  // of a sort by range

using planner::vertex;
using way = planner::exchange;

partition_set::partition_set(planner::machine_graph& first, session_state& session, run_context& context) : session_(&session) {
  all_.resize(static_cast<std::size_t>(first.partitions));
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
    const auto end = [&](std::size_t part) { return part ? even_end(whole.n, all_.size(), part) : 0; };
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
}

void partition_set::run(const vertex& v) {
  if (v.moves) return exchange(v);
  for (std::size_t p = 0; p < static_cast<std::size_t>(v.partitions); ++p) {
    const vertex& here = all_[p].mine(v);
    if (p && all_[p].context->left_to_joins.contains(&here)) {
      if (all_[p].context->progress) all_[p].context->progress->vertex_done();
    } else {
      runs(p).run_here(here);
    }
  }
}

void partition_set::count_sent(const row_pages& pages) {
  for (const row_page& page : pages) {
    session_->sent_rows += page.rows;
    session_->sent_bytes += page.bytes.size();
  }
}

row_pages partition_set::taken_apart(const detail::table& rows, std::size_t first, std::size_t end, run_context& context) {
  detail::table part = rows;
  part.rows = static_cast<const std::byte*>(rows.rows) + first * rows.type->size;
  part.n = end - first;
  row_pages pages = part.n ? session_->cpu->pages_of(part, context) : row_pages{};
  count_sent(pages);
  return pages;
}

row_pages partition_set::taken_apart(const detail::table& rows, run_context& context) { return taken_apart(rows, 0, rows.n, context); }

// Ranges of an order, of rows that the senders have: a part of each sender's rows, in proportion to their number, is sent to the first
// partition, which sends the first rows of ranges to all.
row_pages partition_set::begins_of_ranges(const vertex& v, std::size_t senders) {
  std::size_t all = 0;
  for (std::size_t p = 0; p < senders; ++p) all += all_[p].context->table_of(all_[p].mine(v)).n;
  const std::size_t wanted = samples_a_range * all_.size();
  std::vector<row_pages> samples;
  for (std::size_t p = 0; p < senders; ++p) {
    const vertex& here = all_[p].mine(v);
    run_context& context = *all_[p].context;
    runs(p).in_name_of(here, [&] {
      const detail::table& rows = context.table_of(here);
      const std::size_t share = all <= wanted ? rows.n : (rows.n * wanted + all - 1) / all;
      samples.push_back(taken_apart(session_->cpu->sample_of(here, rows, share, context), context));
    });
  }
  row_pages begins;
  runs(0).in_name_of(v, [&] {
    std::vector<const row_page*> inbox;
    for (const row_pages& pages : samples)
      for (const row_page& page : pages) inbox.push_back(&page);
    run_context& context = *all_[0].context;
    const detail::table some = session_->cpu->rows_of(v.row(), inbox, context);
    begins = taken_apart(session_->cpu->begins_of_ranges(v, some, all_.size(), context), context);
  });
  return begins;
}

// What a partition sends: pages, each run of them for the receivers [first, end).
void partition_set::send(const vertex& v, std::size_t p, std::size_t receivers, const row_pages& begins, outbox& sent) {
  const vertex& here = all_[p].mine(v);
  run_context& context = *all_[p].context;
  const auto send_to = [&](row_pages pages, std::size_t first, std::size_t end) { sent.push_back({std::move(pages), first, end}); };
  if (planner::sends_states(v)) {
    std::vector<row_pages> pages = session_->cpu->pages_of_states(here, context.tables.at(&here), receivers, context);
    for (std::size_t r = 0; r < receivers; ++r) {
      count_sent(pages[r]);
      send_to(std::move(pages[r]), r, r + 1);
    }
    return;
  }
  detail::table rows = context.table_of(here);
  if (v.moves != way::hash && v.moves != way::range) return send_to(taken_apart(rows, context), 0, receivers);
  if (!rows.n) return;
  if (v.moves == way::range) {
    std::vector<const row_page*> inbox;
    for (const row_page& page : begins) inbox.push_back(&page);
    rows = session_->cpu->in_ranges(here, rows, session_->cpu->rows_of(v.row(), inbox, context), receivers, context);
  }
  const partition_bounds* const bounds = bounds_of(rows);
  if (!bounds) throw internal_error("query: an exchange has no partitions");
  for (std::size_t r = 0; r < receivers; ++r)
    send_to(taken_apart(rows, r ? bounds->ends[r - 1] : 0, bounds->ends[r], context), r, r + 1);
}

// Receivers have the rows in the order of senders, so that what was in order in partitions one after the other is in order in each of them.
void partition_set::exchange(const vertex& v) {
  const std::size_t senders = static_cast<std::size_t>(v.partitions), receivers = v.moves == way::gather ? 1 : all_.size();
  outbox sent;
  row_pages begins;
  if (v.moves == way::range) {
    for (std::size_t p = 0; p < senders; ++p) runs(p).run_here(all_[p].mine(v));
    begins = begins_of_ranges(v, senders);
  }
  for (std::size_t p = 0; p < senders; ++p) {
    const vertex& here = all_[p].mine(v);
    if (v.moves != way::range) runs(p).run_here(here);
    runs(p).in_name_of(here, [&] { send(v, p, receivers, begins, sent); });
    all_[p].context->tables.erase(&here);
  }
  for (std::size_t r = 0; r < receivers; ++r) {
    const vertex& there = all_[r].mine(v);
    runs(r).in_name_of(there, [&] {
      std::vector<const row_page*> inbox;
      for (const pages_to& to : sent)
        if (to.first <= r && r < to.end)
          for (const row_page& page : to.pages) inbox.push_back(&page);
      run_context& context = *all_[r].context;
      context.tables[&there] = planner::sends_states(v) ? session_->cpu->states_of(there, inbox, context)
                                                        : vertex_rows(session_->cpu->rows_of(v.row(), inbox, context));
    });
    for (pages_to& to : sent)
      if (to.end == r + 1) to.pages.clear();
  }
}

void partition_set::forget(const vertex& v) {
  for (std::size_t p = 1; p < all_.size(); ++p) all_[p].context->tables.erase(&all_[p].mine(v));
}

std::optional<std::uint64_t> partition_set::rows_of_result() const {
  std::uint64_t rows = 0;
  for (std::size_t p = 0; p < static_cast<std::size_t>(all_[0].graph->result_partitions); ++p) {
    const auto r = all_[p].context->tables.find(all_[p].graph->result.table);
    if (r == all_[p].context->tables.end()) return std::nullopt;
    rows += r->second.here() ? r->second.rows.n : r->second.kept->size();
  }
  return rows;
}

void partition_set::verify_result() {
  for (std::size_t p = 0; p < static_cast<std::size_t>(all_[0].graph->result_partitions); ++p)
    session_->cpu->verify(all_[p].graph->result, all_[p].graph->captures, *all_[p].context);
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
  for (std::size_t p = 0; p < static_cast<std::size_t>(g.result_partitions); ++p) {
    const partition& part = all_[p];
    if (p && part.context->progress) part.context->progress->vertex_done();
    if (p == 0) {
      session_->cpu->fold(part.graph->result, part.graph->captures, k, state, *part.context);
      continue;
    }
    detail::fold_state rest;
    session_->cpu->fold(part.graph->result, part.graph->captures, k, rest, *part.context);
    session_->cpu->merge(k, g.result.row, state, rest);
  }
}

}  // namespace query::runtime
