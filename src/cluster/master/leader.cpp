#include "cluster/master/leader.hpp"

#include <algorithm>

#include <query/errors.hpp>

#include "cluster/bytes.hpp"
#include "cluster/messages.hpp"
#include "cluster/sent_errors.hpp"
#include "planner/cluster_graph.hpp"
#include "runtime/engine_failure.hpp"
#include "runtime/partition_bounds.hpp"

namespace query::cluster {

using planner::branch;
using planner::vertex;
using runtime::row_page;
using runtime::row_pages;

// ---------------------------------------------------------------- what others say
void leader_inbox::put(said s) {
  const std::lock_guard hold(lock_);
  said_.push_back(std::move(s));
  some_.notify_one();
}
void leader_inbox::put(block_puller::outcome o) {
  const std::lock_guard hold(lock_);
  pulled_.push_back(std::move(o));
  some_.notify_one();
}
void leader_inbox::take(std::deque<said>& from_processes, std::deque<block_puller::outcome>& pulled, bool wait) {
  constexpr std::chrono::milliseconds a_moment{20};
  std::unique_lock hold(lock_);
  if (wait) some_.wait_for(hold, a_moment, [&] { return !said_.empty() || !pulled_.empty(); });
  from_processes.swap(said_);
  pulled.swap(pulled_);
}

// ---------------------------------------------------------------- partitions of this process
leader::leader(planner::machine_graph& first, runtime::session_state& session, runtime::run_context& context,
               std::shared_ptr<const prepared_plan> sent)
    : session_(&session), sent_(std::move(sent)) {
  if (sent_) cluster_ = &static_cast<session_cluster&>(*session.processes);
  all_.resize(sent_ ? 1 : static_cast<std::size_t>(first.partitions));
  // A generator's rows may come from a channel that has handed them out.
  for (const auto& v : first.vertices)
    for (const branch& b : v->inputs)
      replayable_ &= !b.source || b.source->what != detail::verb::source_stream || b.source->count > 0;
  for (std::size_t p = 1; p < all_.size(); ++p) {
    here& part = all_[p];
    part.own_graph = planner::copy_of(first).graph;
    part.graph = part.own_graph.get();
    part.own_context.reset(new runtime::run_context{context.scheduler, context.pool, context.cancel});
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
  for (const auto& v : first.vertices) numbers_.emplace(v.get(), numbers_.size());
}

leader::~leader() {
  pulls_.reset();
  for (const there& t : there_)
    if (t.process) t.process->close(query_);
  if (begun_ && sent_) cluster_->blocks().close(query_);
}

void leader::divide_sources(here& p, std::size_t number) {
  const auto divide = [&](branch& b, int partitions) {
    if (partitions == 1 || !planner::is_divided(b)) return;
    detail::row_block whole;
    b.source->view(b.source->source.get(), whole);
    const auto end = [&](std::size_t part) { return part ? runtime::even_end(whole.n, static_cast<std::size_t>(partitions), part) : 0; };
    p.parts_of_sources.emplace_back(*b.source, end(number), end(number + 1));
    b.source = p.parts_of_sources.back().node();
  };
  for (const auto& v : p.graph->vertices)
    for (branch& b : v->inputs) divide(b, v->partitions);
  divide(p.graph->result, p.graph->result_partitions);
}

void leader::leads(runtime::executor& first) {
  pulls_.reset();
  for (there& t : there_)
    if (t.process) t.process->close(query_);
  if (begun_ && sent_) cluster_->blocks().close(query_);
  for (here& p : all_) {
    runtime::executor* runs = &first;
    if (p.own_context) {
      p.context->tables.clear();
      p.context->too_large.clear();
      p.own_executor = std::make_unique<runtime::executor>(*p.graph, *session_, *p.context);
      p.own_executor->begin();
      runs = p.own_executor.get();
    }
    p.work = std::make_unique<partition_work>(*p.graph, *session_, *p.context, *runs);
    p.queue = task_queue({});
  }
  begun_ = false;
  steps_.clear();
  placed_.clear();
  vertices_.clear();
  to_do_.clear();
  to_start_.clear();
  errors_.clear();
  there_.assign(parts(), {});
  inbox_ = std::make_shared<leader_inbox>();
  master_.emplace(master::options{.partitions = static_cast<std::uint32_t>(parts()),
                                  .others_from = static_cast<std::uint32_t>(all_.size()),
                                  .replayable = replayable_});
}

// When the first vertex runs: the executor has decided by then what is left to joins.
void leader::begin() {
  if (std::exchange(begun_, true)) return;
  if (sent_) {
    query_ = cluster_->next_query();
    cluster_->blocks().open(query_, all_[0].work->blocks());
    pulls_ = std::make_unique<block_puller>(query_, cluster_->token(), all_[0].context->pool,
                                            [box = inbox_](block_puller::outcome o) { box->put(std::move(o)); });
  }
  master_actions actions;
  master_->begin(actions);
  act(actions);
  start_hosts();
  for (const auto& v : all_[0].graph->vertices)
    if (v->node && v->node->what == detail::verb::source_file && v->partitions > 1) place_file(*v);
}

// ---------------------------------------------------------------- other processes
// All are started before anyone's plan is sent.
void leader::start_hosts() {
  while (!to_start_.empty()) {
    const std::vector<host_id> now = std::exchange(to_start_, {});
    const auto guarded = [&](const host_id& host, auto step) {
      try {
        step();
        return true;
      } catch (const runtime::process_lost& e) {
        tell(host_lost{host, e.what()});
        return false;
      }
    };
    std::vector<std::shared_ptr<local_process>> processes;
    for (const host_id& host : now) processes.push_back(cluster_->living(host.partition));
    for (std::size_t i = 0; i < now.size(); ++i) {
      const host_id& host = now[i];
      if (!guarded(host, [&] {
            processes[i]->open(query_, inbox_, host);
            there_[host.partition] = {processes[i], host, processes[i]->listens_at(all_[0].context->cancel)};
            send_plan(*processes[i], host);
          }))
        continue;
      // Blocks are pulled from each by each; what was said of a process holds before a task names it.
      byte_writer peer;
      peer.put(host);
      peer.put_text(there_[host.partition].where);
      pulls_->peer(host, there_[host.partition].where);
      for (const there& t : there_)
        if (t.process && t.as != host) send(t.as, message_kind::peer, peer.bytes());
      const auto introduce = [&](const host_id& other, const std::string& where) {
        byte_writer w;
        w.put(other);
        w.put_text(where);
        send(host, message_kind::peer, w.bytes());
      };
      introduce({0, 1}, cluster_->blocks().where());
      for (const there& t : there_)
        if (t.process && t.as != host) introduce(t.as, t.where);
      tell(host_ready{host});
    }
  }
}

void leader::send_plan(local_process& to, const host_id& as) {
  runtime::run_context& context = *all_[0].context;
  const sent_plan& plan = sent_->plan;
  byte_writer head;
  write_modules(head, sent_->modules);
  head.put(as);
  head.put(static_cast<std::uint8_t>(context.verify));
  std::vector<std::uint64_t> left_to_joins;
  for (const vertex* v : context.left_to_joins) left_to_joins.push_back(numbers_.at(v));
  write_list(head, left_to_joins);
  to.send(message_kind::plan, query_, context.cancel, head.bytes(), plan.bytes);
  const auto send_page = [&](const rows_header& h, const row_page* page) {
    std::span<const std::byte> rest;
    if (page) rest = {page->bytes.as<const std::byte>(), page->bytes.size()};
    to.send(message_kind::rows, query_, context.cancel, std::as_bytes(std::span(&h, 1)), rest);
  };
  // A few pages at a time: they take memory here.
  const auto send_table = [&](const detail::table& rows, rows_of of, std::uint64_t number, std::uint64_t part) {
    constexpr std::size_t at_once = std::size_t{4} << 20;
    const std::size_t step = std::max<std::size_t>(at_once / rows.type->size, 1);
    for (std::size_t i = 0; i < rows.n; i += step) {
      context.cancel.check();
      detail::table some = rows;
      some.rows = static_cast<const std::byte*>(rows.rows) + i * rows.type->size;
      some.n = std::min(step, rows.n - i);
      for (const row_page& p : context.local->pages_of(some, context)) send_page({of, 0, 0, 0, p.rows}, &p);
    }
    send_page({of, 1, number, part, rows.n}, nullptr);
  };
  for (std::size_t s = 0; s < plan.sources.size(); ++s) {
    const sent_source& source = plan.sources[s];
    detail::row_block whole;
    source.node->view(source.node->source.get(), whole);
    const auto tables = parts_of(*source.node, runtime::even_end(whole.n, parts(), as.partition),
                                 runtime::even_end(whole.n, parts(), as.partition + 1));
    for (std::size_t i = 0; i < tables.size(); ++i)
      if (context.verify || source.reads(i)) send_table(tables[i], rows_of::source, s, i);
  }
  for (std::size_t c = 0; c < plan.captured.size(); ++c) {
    detail::table t;
    t.rows = plan.captured[c]->data;
    t.n = plan.captured[c]->size;
    t.type = plan.captured[c]->element;
    send_table(t, rows_of::capture, c, 0);
  }
}

// A process that is gone is heard of by itself.
void leader::send(const host_id& to, message_kind kind, std::span<const std::byte> what) {
  const there& t = there_[to.partition];
  if (!t.process || t.as != to) return;
  try {
    t.process->send(kind, query_, all_[0].context->cancel, what);
  } catch (const runtime::process_lost& e) {
    inbox_->lost(to, e.what());
  }
}

void leader::heard(leader_inbox::said& s) {
  if (!s.what) {
    if (there_[s.from.partition].as == s.from) there_[s.from.partition] = {};
    return tell(host_lost{s.from, s.why});
  }
  byte_reader from(s.what->bytes);
  switch (s.what->kind) {
    case message_kind::done: {
      task_id t;
      task_result r = read_result(from, t);
      count_done(t, r);
      return tell(task_done{t, s.from, std::move(r)});
    }
    case message_kind::missing: {
      const auto m = from.get<task_block>();
      return tell(block_missing{m.task, s.from, m.block, m.gone != 0});
    }
    case message_kind::failed: {
      const auto t = from.get<task_id>();
      const local_process* const process = there_[s.from.partition].process.get();
      try {
        rethrow(from, process ? process->name() : "a process that was lost");
      } catch (...) {
        if (t.step == 0) throw;  // its plan, or its rows
        errors_[{t.step, t.partition}] = std::current_exception();
      }
      return tell(task_failed{t, s.from});
    }
    default: throw cluster_error("cluster: a process sent what nobody asked for");
  }
}

// ---------------------------------------------------------------- what goes on
void leader::tell(const master_event& e) {
  master_actions actions;
  master_->handle(e, actions);
  act(actions);
}

void leader::act(const master_actions& actions) {
  for (const master_action& a : actions) {
    if (const auto* const start = std::get_if<start_host>(&a)) {
      to_start_.push_back(start->host);
    } else if (const auto* const run = std::get_if<run_task>(&a)) {
      if (is_here(run->host.partition)) {
        put(run->host.partition, run->task);
        continue;
      }
      byte_writer t;
      write_task(t, run->task);
      send(run->host, message_kind::task, t.bytes());
    } else if (const auto* const other = std::get_if<redirect>(&a)) {
      const task_block b{other->task, other->instead};
      if (is_here(other->host.partition)) put(other->host.partition, other_block{other->task, other->instead});
      else send(other->host, message_kind::redirect, std::as_bytes(std::span(&b, 1)));
    } else if (const auto* const gone = std::get_if<drop>(&a)) {
      if (is_here(gone->host.partition)) put(gone->host.partition, no_longer_read{gone->step});
      else send(gone->host, message_kind::drop, std::as_bytes(std::span(&gone->step, 1)));
    }
  }
}

void leader::put(std::uint32_t partition, const queue_event& e) {
  queue_actions actions;
  all_[partition].queue.handle(e, actions);
  act(actions, partition);
}

void leader::act(const queue_actions& actions, std::uint32_t partition) {
  partition_work& work = *all_[partition].work;
  for (const queue_action& a : actions) {
    if (const auto* const w = std::get_if<pull>(&a)) {
      const block& b = w->what;
      if (!is_here(b.at.partition)) {
        pulls_->pull(w->task, b);
        continue;
      }
      block_store& held = *all_[b.at.partition].work->blocks();
      shared_pages pages = sent_ ? held.find(b.step, b.attempt, b.bucket) : nullptr;
      // Where no process can be lost, a block with one receiver goes to it.
      if (!sent_) {
        const task_result& r = master_->result(b.step, b.at.partition);
        pages = r.blocks.size() > 1 ? held.take(b.step, b.attempt, b.bucket) : held.find(b.step, b.attempt, b.bucket);
      }
      if (!pages) {
        tell(block_missing{w->task, {partition, 1}, b, true});
        continue;
      }
      work.arrived(w->task, b, std::move(pages));
      put(partition, pulled{w->task, b});
    } else if (const auto* const d = std::get_if<discard>(&a)) {
      work.discard(d->task, d->what);
    } else if (const auto* const on = std::get_if<work_on>(&a)) {
      to_do_.emplace_back(partition, on->task);
    } else if (const auto* const m = std::get_if<say_missing>(&a)) {
      tell(block_missing{m->task, {partition, 1}, m->what, m->gone});
    } else if (const auto* const f = std::get_if<forget_rows>(&a)) {
      work.forget(*f);
    }
  }
}

// One task of a partition of this process. What it throws is one of several errors where others run elsewhere; the master chooses.
void leader::work_here() {
  const auto [partition, t] = std::move(to_do_.front());
  to_do_.pop_front();
  here& p = all_[partition];
  bool well = false;
  try {
    const bool left = partition && t.does == work::run && p.context->left_to_joins.contains(p.graph->vertices[t.vertex].get());
    task_result r;
    if (left) progressed();
    else r = p.work->work(t);
    well = true;
    count_done(t.id, r);
    tell(task_done{t.id, {partition, 1}, std::move(r)});
  } catch (const runtime::rows_lost&) {
    throw;
  } catch (const cancelled&) {
    throw;
  } catch (...) {
    if (well || !sent_) throw;
    errors_[{t.id.step, t.id.partition}] = std::current_exception();
    tell(task_failed{t.id, {partition, 1}});
  }
  put(partition, worked{t.id, well});
}

void leader::go_on(function_ref<bool()> until) {
  std::deque<leader_inbox::said> said;
  std::deque<block_puller::outcome> pulled_now;
  for (;;) {
    if (sent_) {
      inbox_->take(said, pulled_now, to_do_.empty() && !master_->failed() && !until());
      for (leader_inbox::said& s : said) heard(s);
      said.clear();
      for (block_puller::outcome& o : pulled_now) {
        if (o.error) {
          try {
            named([&] { std::rethrow_exception(o.error); });
          } catch (...) {
            errors_[{o.task.step, 0}] = std::current_exception();
          }
          tell(task_failed{o.task, {0, 1}});
        }
        if (o.pages) {
          all_[0].work->arrived(o.task, o.wanted, std::move(o.pages));
          put(0, pulled{o.task, o.wanted});
        } else {
          put(0, not_pulled{o.task, o.wanted, o.gone});
        }
      }
      pulled_now.clear();
      start_hosts();
    }
    if (master_->failed()) raise();
    if (until()) return;
    if (!to_do_.empty()) {
      work_here();
      continue;
    }
    if (!sent_) throw internal_error("query: a step of partitions waits for nothing");
    named([&] { all_[0].context->cancel.check(); });
    for (const there& t : there_)
      if (t.process) t.process->look_after();
  }
}

// What is thrown meanwhile is said of the vertex that is waited for.
void leader::named(function_ref<void()> f) {
  if (waits_for_) all_[0].work->in_name_of(*waits_for_, f);
  else f();
}

void leader::raise() {
  const master::failure& f = *master_->failed();
  if (f.task)
    if (const auto error = errors_.find({f.task->step, f.task->partition}); error != errors_.end()) std::rethrow_exception(error->second);
  throw runtime::process_lost(f.why);
}

void leader::count_done(const task_id& t, const task_result& r) {
  for (const block_size& b : r.blocks) {
    session_->sent_rows += b.rows;
    session_->sent_bytes += b.bytes;
  }
  if (!is_here(t.partition) && vertices_.contains(t.step)) progressed();
}

void leader::progressed() const {
  if (all_[0].context->progress) all_[0].context->progress->vertex_done();
}

// ---------------------------------------------------------------- steps
step_id leader::submit(step s) {
  begin();
  master_actions actions;
  const step_id id = master_->submit(std::move(s), actions);
  act(actions);
  return id;
}

step_id leader::submit(const vertex* v, work does, int partitions, step_id receives, std::vector<std::vector<std::byte>> arguments) {
  step s{numbers_.at(v), does, static_cast<std::uint32_t>(partitions), {}, receives, std::move(arguments)};
  if (!receives) s.reads = reads_of(*v);
  waits_for_ = v;
  const step_id id = submit(std::move(s));
  steps_[v].push_back(id);
  if (does == work::run) vertices_[id] = v;
  return id;
}

// Of vertices that are no step of their own, as their rows are handed on, what they read.
void leader::add_reads(std::vector<step_id>& reads, const vertex* table) const {
  if (!table) return;
  if (const auto known = steps_.find(table); known != steps_.end()) {
    reads.push_back(known->second.back());
    return;
  }
  if (const auto file = placed_.find(table); file != placed_.end()) reads.push_back(file->second);
  if (table->partitions == 1) return;
  for (const branch& b : table->inputs) add_reads(reads, b);
  for (const planner::binding& b : table->captures) add_reads(reads, b.table);
}
void leader::add_reads(std::vector<step_id>& reads, const branch& b) const {
  add_reads(reads, b.table);
  for (const planner::stage& s : b.stages) add_reads(reads, s.build);
}
std::vector<step_id> leader::reads_of(const vertex& v) const {
  std::vector<step_id> reads;
  if (v.partitions == 1) return reads;  // tables of the first partition, which runs them
  if (const auto file = placed_.find(&v); file != placed_.end()) reads.push_back(file->second);
  for (const branch& b : v.inputs) add_reads(reads, b);
  for (const planner::binding& b : v.captures) add_reads(reads, b.table);
  std::sort(reads.begin(), reads.end());
  reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
  return reads;
}

void leader::wait_here(step_id s) {
  go_on([&] {
    for (std::uint32_t p = 0; p < all_.size(); ++p)
      if (master_->has(s, p) && !master_->done(s, p)) return false;
    return true;
  });
}
void leader::wait(step_id s) {
  go_on([&] { return master_->done(s); });
}

void leader::run(const vertex& v) {
  if (v.moves) return exchange(v);
  if (v.partitions == 1) {
    all_[0].work->run_here(v);
    return;
  }
  wait_here(submit(&v, work::run, v.partitions));
}

// Those who have the file as this process has it share its bytes. Where a part begins within quotes is known once all before it have been
// counted, each part by its reader.
void leader::place_file(const vertex& v) {
  const std::uint64_t number = number_of_part(numbers_.at(&v), *all_[0].graph);
  const auto all = static_cast<std::uint32_t>(v.partitions);
  const auto asked = [&](work does, std::vector<std::vector<std::byte>> arguments) {
    return submit(step{number, does, all, {}, 0, std::move(arguments)});
  };
  waits_for_ = &v;
  const step_id finds = asked(work::find, {});
  wait(finds);
  const auto found = [&](std::uint32_t p) { return byte_reader(master_->result(finds, p).answer).get<data::file_state>(); };
  const data::file_state file = found(0);
  std::vector<data::file_part> parts(all, {0, 0, false, false, file});
  std::vector<std::uint32_t> readers;
  for (std::uint32_t p = 0; p < all; ++p)
    if (found(p) == file) readers.push_back(p);
  std::uint64_t begin = 0;
  for (std::uint32_t p = 0; p < all; ++p) {
    const auto reader = static_cast<std::size_t>(std::find(readers.begin(), readers.end(), p) - readers.begin());
    parts[p].begin = begin;
    if (reader < readers.size()) begin = reader + 1 == readers.size() ? file.bytes : file.bytes / readers.size() * (reader + 1);
    parts[p].end = begin;
  }
  const auto ranges = [&](const auto& put) {
    std::vector<std::vector<std::byte>> arguments;
    for (const data::file_part& part : parts) {
      byte_writer w;
      put(w, part);
      arguments.push_back(w.take());
    }
    return arguments;
  };
  const step_id looks = asked(work::look, ranges([](byte_writer& w, const data::file_part& part) {
    w.put(part.begin);
    w.put(part.end);
  }));
  wait(looks);
  bool quoted = false;
  for (std::uint32_t p = 0; p < all; ++p) {
    parts[p].begin_is_quoted = quoted;
    quoted ^= byte_reader(master_->result(looks, p).answer).get<std::uint64_t>() % 2 != 0;
    parts[p].end_is_quoted = quoted;
  }
  // A quote that is never closed is what its reader finds, if that reads all.
  if (quoted)
    for (std::uint32_t p = 0; p < all; ++p) parts[p] = {p ? file.bytes : 0, file.bytes, false, false, file};
  placed_[&v] = asked(work::place, ranges([](byte_writer& w, const data::file_part& part) { w.put(part); }));
}

// Of all partitions' rows: a part of each one's, in proportion to their number, is sent to the first one, which chooses.
std::vector<std::byte> leader::begins_of_ranges(const vertex& v) {
  constexpr std::size_t samples_a_range = 256;
  const std::size_t wanted = samples_a_range * parts();
  const auto senders = static_cast<std::uint32_t>(v.partitions);
  const step_id counts = submit(&v, work::count, v.partitions);
  wait(counts);
  std::size_t all = 0;
  for (std::uint32_t p = 0; p < senders; ++p) all += static_cast<std::size_t>(master_->result(counts, p).rows);
  std::vector<std::vector<std::byte>> shares;
  for (std::uint32_t p = 0; p < senders; ++p) {
    const std::uint64_t rows = master_->result(counts, p).rows;
    byte_writer share;
    share.put(all <= wanted ? rows : (rows * wanted + all - 1) / all);
    shares.push_back(share.take());
  }
  const step_id samples = submit(&v, work::sample, v.partitions, 0, std::move(shares));
  wait(samples);
  const auto count = [&](const row_pages& pages) {
    const block_size s = size_of(pages);
    session_->sent_rows += s.rows;
    session_->sent_bytes += s.bytes;
  };
  std::vector<row_pages> of_each;
  for (std::uint32_t p = 0; p < senders; ++p) {
    byte_reader from(master_->result(samples, p).answer);
    of_each.push_back(get_pages(from, all_[0].context->pool));
    count(of_each.back());
  }
  std::vector<const row_pages*> in_their_order;
  for (const row_pages& pages : of_each) in_their_order.push_back(&pages);
  const row_pages begins = all_[0].work->exchanges().begins_of_ranges(v, runtime::in_order(in_their_order), parts());
  count(begins);
  byte_writer to;
  put_pages(to, begins);
  return to.take();
}

void leader::exchange(const vertex& v) {
  const bool gathers = v.moves == planner::exchange::gather;
  byte_writer argument;
  argument.put(std::uint64_t{gathers ? 1 : parts()});
  if (v.moves == planner::exchange::range) {
    const std::vector<std::byte> begins = begins_of_ranges(v);
    argument.put_raw(begins.data(), begins.size());
  } else {
    put_pages(argument, {});
  }
  const step_id sends = submit(&v, work::send, v.partitions, 0, {argument.take()});
  wait_here(submit(&v, work::receive, gathers ? 1 : all_[0].graph->partitions, sends));
}

void leader::forget(const std::vector<vertex*>& vs) {
  std::vector<step_id> gone;
  for (const vertex* v : vs)
    if (const auto known = steps_.find(v); known != steps_.end()) gone.insert(gone.end(), known->second.begin(), known->second.end());
  // All at once: a loss may make one run again while another is waited for.
  go_on([&] { return std::all_of(gone.begin(), gone.end(), [&](step_id s) { return master_->done(s); }); });
  for (const vertex* v : vs) steps_.erase(v);
  for (const step_id s : gone) vertices_.erase(s);
  if (gone.empty()) return;
  master_actions actions;
  master_->release(gone, actions);
  act(actions);
}

// ---------------------------------------------------------------- the result
std::optional<std::uint64_t> leader::rows_of_result() const {
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

step_id leader::step_of_result(work does, std::vector<std::vector<std::byte>> arguments) {
  const planner::machine_graph& g = *all_[0].graph;
  step s{0, does, static_cast<std::uint32_t>(g.result_partitions), {}, 0, std::move(arguments)};
  if (g.result_partitions > 1) {
    add_reads(s.reads, g.result);
    for (const planner::binding& b : g.captures) add_reads(s.reads, b.table);
  }
  waits_for_ = nullptr;
  return submit(std::move(s));
}

void leader::verify_result() {
  wait(step_of_result(work::verify, {}));
}

std::string leader::repairs() const {
  const master::repairs r = master_ ? master_->repaired() : master::repairs{};
  if (!r.hosts && !r.tasks) return {};
  const auto counted = [](std::uint64_t n, const char* one, const char* more) { return std::to_string(n) + (n == 1 ? one : more); };
  return counted(r.hosts, " process was lost, ", " processes were lost, ") + counted(r.tasks, " task ran again", " tasks ran again");
}

void leader::count_pieces() {
  for (const here& p : all_) {
    if (!p.own_context) continue;
    for (const auto& [verb, pieces] : p.context->of_vertices) {
      const runtime::counted_pieces first(*all_[0].context, verb);
      all_[0].context->pieces->add(*pieces);
    }
  }
}

void leader::fold(detail::fold_kind k, detail::fold_state& state) {
  const auto partitions = static_cast<std::uint32_t>(all_[0].graph->result_partitions);
  std::vector<std::vector<std::byte>> arguments;
  for (std::uint32_t p = 0; p < partitions; ++p) {
    byte_writer argument;
    argument.put(k);
    argument.put(p ? detail::fold_state{} : state);
    arguments.push_back(argument.take());
  }
  const step_id folds = step_of_result(work::fold, std::move(arguments));
  wait(folds);
  for (std::uint32_t p = 0; p < partitions; ++p) {
    const auto part = byte_reader(master_->result(folds, p).answer).get<detail::fold_state>();
    if (p == 0) {
      state = part;
      continue;
    }
    session_->cpu->merge(k, all_[0].graph->result.row, state, part);
    progressed();
  }
}

}  // namespace query::cluster

namespace query::runtime {

std::unique_ptr<partitions> make_partitions(planner::machine_graph& first, session_state& session, run_context& context,
                                            std::shared_ptr<const cluster::prepared> sent) {
  return std::make_unique<query::cluster::leader>(first, session, context,
                                                  std::static_pointer_cast<const query::cluster::prepared_plan>(std::move(sent)));
}

}  // namespace query::runtime
