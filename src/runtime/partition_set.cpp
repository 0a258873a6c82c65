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
  for (partition& p : all_) {
    p.runs = &first;
    if (p.own_context) {
      p.context->tables.clear();
      p.context->too_large.clear();
      p.own_executor = std::make_unique<executor>(*p.graph, *session_, *p.context);
      p.own_executor->begin();
      p.runs = p.own_executor.get();
    }
    p.exchanges = std::make_unique<exchange_side>(*session_, *p.runs, *p.context);
  }
  others_.clear();
  there_.clear();
  begins_.clear();
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

// ask(i, partition) of all, here() once, answer(i, partition) of all; those whose process was lost meanwhile are asked anew.
template <class Ask, class Here, class Answer> void partition_set::each_other(Ask ask, Here here, Answer answer) {
  begin_others();
  bool ran_here = false;
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
      if (!done[i]) guarded([&] { ask(i, *others_[i]), asked[i] = true; });
    if (!std::exchange(ran_here, true)) here();
    for (std::size_t i = 0; i < others_.size(); ++i)
      if (asked[i]) guarded([&] { answer(i, *others_[i]), done[i] = true; });
    if (!lost) continue;
    for (const std::size_t i : heal(lost)) done[i] = false;
  }
}

// Another process for each that was lost, with what is there elsewhere; returns which. All of them get a vertex before any gets the next
// one: each may have to send its rows to another.
std::vector<std::size_t> partition_set::heal(std::exception_ptr why) {
  if (!can_compute_again_) std::rethrow_exception(why);
  std::vector<bool> healed(others_.size()), behind(others_.size());
  for (bool all_there = false; !all_there;) {
    for (std::size_t i = 0; i < others_.size(); ++i) {
      if (!others_[i]->lost()) continue;
      if (++losses_[i] > most_losses) std::rethrow_exception(why);
      others_[i] = begun(i);
      healed[i] = behind[i] = true;
    }
    try {
      for (const vertex* v : there_)
        for (std::size_t i = 0; i < others_.size(); ++i)
          if (behind[i]) compute_again(*v, i);
      all_there = true;
    } catch (const process_lost&) {
      why = std::current_exception();
      // Those that are behind have some of it: what they have is computed once more.
    }
  }
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < healed.size(); ++i)
    if (healed[i]) numbers.push_back(i);
  return numbers;
}

void partition_set::compute_again(const vertex& v, std::size_t other) {
  remote_partition& there = *others_[other];
  if (!v.moves) {
    there.run(v);
    there.finish();
    return;
  }
  const std::size_t receiver = all_.size() + other, mine = sends_each_its_own(v) ? receiver : 0;
  const row_pages& begins = begins_[&v];
  outbox sent;
  for (std::size_t p = 0; p < here(v.partitions); ++p) sent.push_back(all_[p].exchanges->send(all_[p].mine(v), parts(), begins));
  if (v.partitions > 1)
    for (const auto& p : others_) {
      p->send(v, parts(), begins, receiver);
      sent.push_back(p->sent());
    }
  std::vector<const row_pages*> for_it;
  for (const auto& of_sender : sent) for_it.push_back(&of_sender.at(mine));
  there.receive(v, in_order(for_it));
  there.finish();
}

// ---------------------------------------------------------------- one vertex after the other
void partition_set::progressed() const {
  if (all_[0].context->progress) all_[0].context->progress->vertex_done();
}

void partition_set::run(const vertex& v) {
  if (v.moves) return exchange(v);
  const auto run_here = [&] {
    for (std::size_t p = 0; p < here(v.partitions); ++p) {
      const vertex& mine = all_[p].mine(v);
      if (p && all_[p].context->left_to_joins.contains(&mine)) progressed();
      else all_[p].runs->run_here(mine);
    }
  };
  if (v.partitions == 1 || !sent_) return run_here();
  each_other([&](std::size_t, remote_partition& p) { p.run(v); }, run_here,
             [&](std::size_t, remote_partition& p) {
               p.finish();
               progressed();
             });
  there_.push_back(&v);
}

void partition_set::count_sent(const row_pages& pages) const {
  for (const row_page& page : pages) {
    session_->sent_rows += page.rows;
    session_->sent_bytes += page.bytes.size();
  }
}

// Of all partitions' rows: a part of each one's, in proportion to their number, is sent to the first one, which chooses.
row_pages partition_set::begins_of_ranges(const vertex& v) {
  constexpr std::size_t samples_a_range = 256;
  const std::size_t wanted = samples_a_range * parts();
  std::vector<std::size_t> rows(parts());
  const auto count_here = [&] {
    for (std::size_t p = 0; p < here(v.partitions); ++p) rows[p] = all_[p].exchanges->run(all_[p].mine(v));
  };
  const bool others = v.partitions > 1 && sent_;
  if (others)
    each_other([&](std::size_t, remote_partition& p) { p.run(v); }, count_here,
               [&](std::size_t i, remote_partition& p) { rows[all_.size() + i] = static_cast<std::size_t>(p.finish()); });
  else count_here();
  std::size_t all = 0;
  for (const std::size_t n : rows) all += n;
  const auto share = [&](std::size_t p) { return all <= wanted ? rows[p] : (rows[p] * wanted + all - 1) / all; };
  std::vector<row_pages> samples(parts());
  const auto sample_here = [&] {
    for (std::size_t p = 0; p < here(v.partitions); ++p) samples[p] = all_[p].exchanges->sample(all_[p].mine(v), share(p));
  };
  if (!others) sample_here();
  else
    each_other([&](std::size_t i, remote_partition& p) { p.sample(v, share(all_.size() + i)); }, sample_here,
               [&](std::size_t i, remote_partition& p) { samples[all_.size() + i] = std::move(p.sent().at(0)); });
  std::vector<const row_pages*> in_their_order;
  for (const row_pages& pages : samples) {
    count_sent(pages);
    in_their_order.push_back(&pages);
  }
  row_pages begins = all_[0].exchanges->begins_of_ranges(v, in_order(in_their_order), parts());
  count_sent(begins);
  return begins;
}

partition_set::outbox partition_set::sent_by_all(const vertex& v, std::size_t receivers, const row_pages& begins) {
  outbox sent;
  const auto send_here = [&] {
    for (std::size_t p = 0; p < here(v.partitions); ++p) sent.push_back(all_[p].exchanges->send(all_[p].mine(v), receivers, begins));
  };
  if (v.partitions > 1 && sent_) {
    outbox by_others(parts() - all_.size());
    each_other([&](std::size_t, remote_partition& p) { p.send(v, receivers, begins); }, send_here,
               [&](std::size_t i, remote_partition& p) { by_others[i] = p.sent(); });
    for (auto& pages : by_others) sent.push_back(std::move(pages));
  } else {
    send_here();
  }
  for (const auto& of_sender : sent)
    for (const row_pages& pages : of_sender) count_sent(pages);
  return sent;
}

// Receivers have the rows in the order of senders, so that what was in order in partitions one after the other is in order in each of them.
void partition_set::exchange(const vertex& v) {
  const std::size_t receivers = v.moves == way::gather ? 1 : parts();
  row_pages begins;
  if (v.moves == way::range) begins = begins_of_ranges(v);
  outbox sent = sent_by_all(v, receivers, begins);
  const bool each_its_own = sends_each_its_own(v);
  const auto inbox_of = [&](std::size_t r) {
    std::vector<const row_pages*> for_it;
    for (const auto& of_sender : sent) for_it.push_back(&of_sender[each_its_own ? r : 0]);
    return in_order(for_it);
  };
  for (std::size_t r = 0; r < std::min(receivers, all_.size()); ++r) {
    all_[r].exchanges->receive(all_[r].mine(v), inbox_of(r));
    if (each_its_own)
      for (auto& of_sender : sent) of_sender[r].clear();
  }
  if (receivers == 1 || !sent_) return;
  each_other([&](std::size_t i, remote_partition& p) { p.receive(v, inbox_of(all_.size() + i)); }, [] {},
             [&](std::size_t, remote_partition& p) { p.finish(); });
  there_.push_back(&v);
  if (v.moves == way::range) begins_[&v] = std::move(begins);
}

void partition_set::forget(const vertex& v) {
  for (std::size_t p = 1; p < all_.size(); ++p) all_[p].context->tables.erase(&all_[p].mine(v));
  if (std::erase(there_, &v) == 0) return;
  begins_.erase(&v);
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
  each_other([&](std::size_t, remote_partition& p) { p.verify_result(); }, [] {}, [&](std::size_t, remote_partition& p) { p.finish(); });
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
    progressed();
  };
  const auto fold_here = [&] {
    session_->cpu->fold(all_[0].graph->result, all_[0].graph->captures, k, state, *all_[0].context);
    for (std::size_t p = 1; p < std::min(all_.size(), partitions); ++p) {
      const partition& part = all_[p];
      detail::fold_state rest;
      session_->cpu->fold(part.graph->result, part.graph->captures, k, rest, *part.context);
      add(rest);
    }
  };
  if (partitions == 1 || !sent_) return fold_here();
  std::vector<detail::fold_state> rest(parts() - all_.size());
  each_other([&](std::size_t, remote_partition& p) { p.fold(k); }, fold_here,
             [&](std::size_t i, remote_partition& p) { rest[i] = p.folded(); });
  for (const detail::fold_state& r : rest) add(r);
}

}  // namespace query::runtime
