#include "runtime/partition_set.hpp"

#include <algorithm>
#include <exception>
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
  // A generator's rows may come from a channel that has handed them out.
  for (const auto& v : first.vertices)
    for (const planner::branch& b : v->inputs)
      can_compute_again_ &= !b.source || b.source->what != detail::verb::source_stream || b.source->count > 0;
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
  there_.clear();
  losses_.assign(parts(), 0);
}

// ---------------------------------------------------------------- in other processes
namespace {
constexpr int most_losses = 2;  // of one partition's process: a function that ends it does so each time
}  // namespace

std::unique_ptr<remote_partition> partition_set::begun(std::size_t other) {
  for (;;) {
    try {
      return session_->processes->begin(*sent_, *all_[0].graph, *all_[0].context, all_.size() + other);
    } catch (const process_lost&) {
      if (++losses_[other] > most_losses) throw;
    }
  }
}

// When the first vertex runs: the leader has decided by then what is left to joins.
void partition_set::begin_others() {
  if (!sent_ || !others_.empty()) return;
  std::vector<std::unique_ptr<remote_partition>> all;
  for (std::size_t i = 0; i + all_.size() < parts(); ++i) all.push_back(begun(i));
  others_ = std::move(all);
}

// f.ask(i, partition), then f.answer(i, partition), of all; those whose process was lost meanwhile are asked anew.
template <class F> void partition_set::each_other(F f) {
  begin_others();
  std::vector<bool> done(others_.size());
  while (std::find(done.begin(), done.end(), false) != done.end()) {
    std::exception_ptr lost;
    const auto guarded = [&](auto step) {
      try {
        step();
      } catch (const process_lost&) {
        lost = std::current_exception();
      }
    };
    // All are asked before anyone is waited for, and nobody's answer is left lying there when others are asked something else.
    std::vector<bool> asked(others_.size());
    for (std::size_t i = 0; i < others_.size(); ++i)
      if (!done[i]) guarded([&] { f.ask(i, *others_[i]), asked[i] = true; });
    for (std::size_t i = 0; i < others_.size(); ++i)
      if (asked[i]) guarded([&] { f.answer(i, *others_[i]), done[i] = true; });
    if (!lost) continue;
    for (const std::size_t i : heal(lost)) done[i] = false;
  }
}

// Another process for each that was lost, with what is there elsewhere; returns which.
std::vector<std::size_t> partition_set::heal(std::exception_ptr why) {
  if (!can_compute_again_) std::rethrow_exception(why);
  std::vector<std::size_t> healed;
  for (std::size_t i = 0; i < others_.size();) {
    if (!others_[i]->lost()) {
      ++i;
      continue;
    }
    if (++losses_[i] > most_losses) std::rethrow_exception(why);
    healed.push_back(i);
    try {
      others_[i] = begun(i);
      for (const vertex* v : there_) compute_again(*v, i);
    } catch (const process_lost&) {
      why = std::current_exception();
      i = 0;  // it, or one that had to send it rows
    }
  }
  return healed;
}

void partition_set::compute_again(const vertex& v, std::size_t other) {
  remote_partition& there = *others_[other];
  if (!v.moves) {
    there.run(v);
    return there.finish();
  }
  const std::size_t receiver = all_.size() + other, mine = v.moves == way::hash ? receiver : 0;
  std::vector<row_pages> sent;
  for (std::size_t p = 0; p < std::min(all_.size(), static_cast<std::size_t>(v.partitions)); ++p)
    sent.push_back(std::move(taken_apart_for_receivers(v, p).at(mine)));
  if (v.partitions > 1)
    for (const auto& p : others_) {
      p->send(v, receiver);
      sent.push_back(std::move(p->sent(v.moves == way::hash ? parts() : 1).at(mine)));
    }
  std::vector<const row_page*> inbox;
  for (const row_pages& pages : sent)
    for (const row_page& page : pages) inbox.push_back(&page);
  there.receive(v, inbox);
  there.finish();
}

// ---------------------------------------------------------------- one vertex after the other
namespace {
// Steps of each_other.
template <class Ask, class Answer> struct steps {
  Ask ask;
  Answer answer;
};
template <class Ask, class Answer> steps(Ask, Answer) -> steps<Ask, Answer>;
}  // namespace

void partition_set::run(const vertex& v) {
  if (v.moves) return exchange(v);
  const auto here = [&] {
    for (std::size_t p = 0; p < std::min(all_.size(), static_cast<std::size_t>(v.partitions)); ++p) {
      const vertex& mine = all_[p].mine(v);
      if (p && all_[p].context->left_to_joins.contains(&mine)) {
        if (all_[p].context->progress) all_[p].context->progress->vertex_done();
      } else {
        runs(p).run_here(mine);
      }
    }
  };
  if (v.partitions == 1 || !sent_) return here();
  bool ran = false;
  each_other(steps{[&](std::size_t, remote_partition& p) { p.run(v); },
                   [&](std::size_t, remote_partition& p) {
                     if (!std::exchange(ran, true)) here();  // while they run it
                     p.finish();
                     if (all_[0].context->progress) all_[0].context->progress->vertex_done();
                   }});
  there_.push_back(&v);
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
  vertex_rows received;  // by this partition, where the rows are sent again
  if (const auto known = context.tables.find(&here); known != context.tables.end()) received = std::move(known->second);
  const bool keeps = context.tables.erase(&here) != 0;
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
  if (keeps) context.tables[&here] = std::move(received);
  else context.tables.erase(&here);
  return sent;
}

// Receivers have the rows in the order of senders, so that what was in order in partitions one after the other is in order in each of them.
void partition_set::exchange(const vertex& v) {
  const bool each_its_own = v.moves == way::hash;
  const std::size_t receivers = v.moves == way::gather ? 1 : parts();
  std::vector<std::vector<row_pages>> sent;  // of each sender
  const auto here = [&] {
    for (std::size_t p = 0; p < std::min(all_.size(), static_cast<std::size_t>(v.partitions)); ++p)
      sent.push_back(taken_apart_for_receivers(v, p));
  };
  if (v.partitions == 1 || !sent_) {
    here();
  } else {
    std::vector<std::vector<row_pages>> by_others(parts() - all_.size());
    each_other(steps{[&](std::size_t, remote_partition& p) { p.send(v); },
                     [&](std::size_t i, remote_partition& p) {
                       if (sent.empty()) here();  // while they do
                       by_others[i] = p.sent(each_its_own ? receivers : 1);
                     }});
    for (auto& pages : by_others) {
      for (const row_pages& of_one : pages)
        for (const row_page& page : of_one) {
          session_->sent_rows += page.rows;
          session_->sent_bytes += page.bytes.size();
        }
      sent.push_back(std::move(pages));
    }
  }
  const auto inbox_of = [&](std::size_t r) {
    std::vector<const row_page*> inbox;
    for (const auto& of_sender : sent)
      for (const row_page& page : of_sender[each_its_own ? r : 0]) inbox.push_back(&page);
    return inbox;
  };
  for (std::size_t r = 0; r < std::min(receivers, all_.size()); ++r) {
    const vertex& there = all_[r].mine(v);
    runs(r).in_name_of(there, [&] { all_[r].context->tables[&there] = session_->cpu->rows_of(v.row(), inbox_of(r), *all_[r].context); });
    if (each_its_own)
      for (auto& of_sender : sent) of_sender[r].clear();
  }
  if (receivers == 1 || !sent_) return;
  each_other(steps{[&](std::size_t i, remote_partition& p) { p.receive(v, inbox_of(all_.size() + i)); },
                   [&](std::size_t, remote_partition& p) { p.finish(); }});
  there_.push_back(&v);
}

void partition_set::forget(const vertex& v) {
  for (std::size_t p = 1; p < all_.size(); ++p) all_[p].context->tables.erase(&all_[p].mine(v));
  if (std::erase(there_, &v) == 0) return;
  for (const auto& p : others_) {
    try {
      p->forget(v);
    } catch (const process_lost&) {  // so it has
    }
  }
}

std::optional<std::uint64_t> partition_set::rows_of_result() const {
  std::uint64_t rows = 0;
  const auto partitions = static_cast<std::size_t>(all_[0].graph->result_partitions);
  if (partitions > 1 && sent_) return std::nullopt;
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
  if (partitions == 1 || !sent_) return;
  each_other(steps{[&](std::size_t, remote_partition& p) { p.verify_result(); }, [&](std::size_t, remote_partition& p) { p.finish(); }});
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
  const auto here = [&] {
    session_->cpu->fold(all_[0].graph->result, all_[0].graph->captures, k, state, *all_[0].context);
    for (std::size_t p = 1; p < std::min(all_.size(), partitions); ++p) {
      const partition& part = all_[p];
      detail::fold_state rest;
      session_->cpu->fold(part.graph->result, part.graph->captures, k, rest, *part.context);
      add(rest);
    }
  };
  if (partitions == 1 || !sent_) return here();
  std::vector<detail::fold_state> rest(parts() - all_.size());
  bool folded = false;
  each_other(steps{[&](std::size_t, remote_partition& p) { p.fold(k); },
                   [&](std::size_t i, remote_partition& p) {
                     if (!std::exchange(folded, true)) here();  // while they do
                     rest[i] = p.folded();
                   }});
  for (const detail::fold_state& r : rest) add(r);
}

}  // namespace query::runtime
