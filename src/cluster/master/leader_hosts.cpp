// The other processes of a query, as its leader starts them, sends them the plan and hears them.
#include <algorithm>
#include <utility>

#include <query/errors.hpp>

#include "cluster/bytes.hpp"
#include "cluster/master/leader.hpp"
#include "cluster/messages.hpp"
#include "cluster/sent_errors.hpp"
#include "data/arrow_table.hpp"
#include "runtime/engine_failure.hpp"
#include "runtime/partition_bounds.hpp"

namespace query::cluster {

using planner::vertex;
using runtime::row_page;

// ---------------------------------------------------------------- what others say
void leader_inbox::put(said s) {
  const std::lock_guard hold(lock_);
  said_.push_back(std::move(s));
  some_.notify_all();
}
void leader_inbox::put(block_puller::outcome o) {
  const std::lock_guard hold(lock_);
  pulled_.push_back(std::move(o));
  some_.notify_all();
}
void leader_inbox::await() {
  constexpr std::chrono::milliseconds a_moment{20};
  std::unique_lock hold(lock_);
  some_.wait_for(hold, a_moment, [&] { return closed_ || !said_.empty() || !pulled_.empty(); });
}
void leader_inbox::close() {
  const std::lock_guard hold(lock_);
  closed_ = true;
  some_.notify_all();
}
void leader_inbox::take(std::deque<said>& from_processes, std::deque<block_puller::outcome>& pulled, bool wait) {
  if (wait) await();
  const std::lock_guard hold(lock_);
  from_processes.swap(said_);
  pulled.swap(pulled_);
}

// ---------------------------------------------------------------- other processes
// All are started before anyone's plan is sent.
void leader::start_hosts() {
  while (!to_start_.empty()) {
    const std::vector<start_host> now = std::exchange(to_start_, {});
    std::vector<std::shared_ptr<local_process>> processes;
    for (const start_host& s : now)
      processes.push_back(s.in ? there_[*s.in].process : cluster_->living(s.host.partition, all_[0].context->cancel));
    for (std::size_t i = 0; i < now.size(); ++i) {
      const host_id& host = now[i].host;
      if (!master_->is_host(host) && !master_->is_copy(host)) continue;  // a copy that is not wanted any more
      try {
        if (!processes[i]) throw runtime::process_lost("the process of its copy was lost");
        begin_host(host, processes[i]);
      } catch (const runtime::process_lost& e) {
        tell(host_lost{host, e.what()});
      }
    }
  }
}

// A process has a number of the query for each partition that it runs.
void leader::begin_host(const host_id& host, std::shared_ptr<local_process> process) {
  there t{std::move(process), host, "", host.incarnation == 1 ? query_ : cluster_->next_query()};
  t.process->open(t.query, inbox_, host);
  there& now = master_->is_host(host) ? there_[host.partition] : copy_;
  now = t;
  now.where = t.process->listens_at(all_[0].context->cancel);
  send_plan(now);
  introduce(now);
  tell(host_ready{host});
}

// Every process pulls blocks from every other one, so each learns the address of a process before a task names that process.
void leader::introduce(const there& to) {
  const auto tell_of = [&](const host_id& whom, const host_id& other, const std::string& where, std::uint64_t query) {
    byte_writer w;
    w.put(other);
    w.put_text(where);
    w.put(query);
    send(whom, message_kind::peer, w.bytes());
  };
  pulls_->peer(to.as, to.where, to.query);
  tell_of(to.as, {0, 1}, cluster_->blocks().where(), query_);
  std::vector<there> others = there_;
  others.push_back(copy_);
  for (const there& t : others) {
    if (!t.process || t.as == to.as) continue;
    tell_of(t.as, to.as, to.where, to.query);
    tell_of(to.as, t.as, t.where, t.query);
  }
}

leader::there* leader::known(const host_id& host) {
  there& of_partition = there_[host.partition];
  if (of_partition.process && of_partition.as == host) return &of_partition;
  return copy_.process && copy_.as == host ? &copy_ : nullptr;
}

void leader::close(there& t) {
  if (t.process) t.process->close(t.query);
  t = {};
}
void leader::close_all() {
  pulls_.reset();
  for (there& t : there_) close(t);
  close(copy_);
  if (begun_ && sent_) cluster_->blocks().close(query_);
}

// Cached rows are in the process of their partition alone: its tasks are not copied.
void leader::look_for_slow() {
  constexpr std::chrono::milliseconds interval{100};
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ < interval) return;
  looked_ = now;
  const auto& found = leads_->cached().found;
  if (!cached_numbers_.empty() || std::any_of(found.begin(), found.end(), [](const auto& v) { return v.first->partitions > 1; })) return;
  tell(cluster::look_for_slow{});
}

void leader::send_plan(const there& t) {
  const std::shared_ptr<local_process> to = t.process;
  const host_id as = t.as;
  runtime::run_context& context = *all_[0].context;
  const sent_plan& plan = sent_->plan;
  byte_writer head;
  write_modules(head, sent_->modules);
  head.put(as);
  head.put(static_cast<std::uint8_t>(context.verify));
  head.put(static_cast<std::uint8_t>(context.cancel.checks_them()));
  std::vector<std::uint64_t> left_to_joins;
  for (const vertex* v : context.left_to_joins) left_to_joins.push_back(numbers_.at(v));
  write_list(head, left_to_joins);
  const runtime::cached_vertices& cached = leads_->cached();
  std::vector<std::uint64_t> surely_cached;
  std::vector<std::uint64_t> kept_as;  // vertices and numbers
  for (const auto& [v, number] : cached_numbers_) kept_as.insert(kept_as.end(), {numbers_.at(v), number});
  for (const auto& [v, rows] : cached.found) {
    if (v->partitions == 1) continue;
    kept_as.insert(kept_as.end(), {numbers_.at(v), cluster_->cached().number_of(v->node->kept_as)});
    // It began after the others were asked.
    if (!cluster_->keeps_cached(*v->node, as.partition, to)) throw runtime::rows_lost("cached rows were lost with a process", "cluster");
    surely_cached.push_back(numbers_.at(v));
  }
  write_list(head, kept_as);
  write_list(head, surely_cached);
  write_list(head, cluster_->cached().gone());
  to->send(message_kind::plan, t.query, context.cancel, head.bytes(), plan.bytes);
  const auto send_page = [&](const rows_header& h, const row_page* page) {
    std::span<const std::byte> rest;
    if (page) rest = {page->bytes.as<const std::byte>(), page->bytes.size()};
    to->send(message_kind::rows, t.query, context.cancel, std::as_bytes(std::span(&h, 1)), rest);
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
  const auto is_read = [&](const detail::logical* source) {
    return std::any_of(sources_.begin(), sources_.end(), [&](const auto& of) {
      return !cached.spared.contains(of.first) && !cached.found.contains(of.first) &&
             std::find(of.second.begin(), of.second.end(), source) != of.second.end();
    });
  };
  for (std::size_t s = 0; s < plan.sources.size(); ++s) {
    const sent_source& source = plan.sources[s];
    if (!is_read(source.node)) continue;
    if (const data::arrow_table* const arrow = data::arrow_table::of(*source.node))
      arrow->prepare(context.verify ? std::vector<bool>{} : source.wanted, data::arrow_table::reads::values,
                     [&](std::size_t n, function_ref<void(std::size_t)> task) { context.scheduler.for_each(n, task, context.cancel); });
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
  const there* const t = known(to);
  if (!t) return;
  try {
    t->process->send(kind, t->query, all_[0].context->cancel, what);
  } catch (const runtime::process_lost& e) {
    inbox_->lost(to, e.what());
  }
}

void leader::heard(leader_inbox::said& s) {
  if (!s.what) {
    if (there* const t = known(s.from)) *t = {};
    return tell(host_lost{s.from, s.why});
  }
  byte_reader from(s.what->bytes);
  switch (s.what->kind) {
    case message_kind::done: {
      task_id t;
      task_result r = read_result(from, t);
      count_done(t, s.from, r);
      return tell(task_done{t, s.from, std::move(r)}, s.at);
    }
    case message_kind::missing: {
      const auto m = from.get<task_block>();
      return tell(block_missing{m.task, s.from, m.block, m.gone != 0, m.milliseconds});
    }
    case message_kind::failed: {
      const auto t = from.get<task_id>();
      const there* const by = known(s.from);
      const bool is_copy = master_->is_copy(s.from);
      if (is_copy && t.step == 0) return tell(host_lost{s.from, "its plan did not come"});
      try {
        rethrow(from, by ? by->process->name() : "a process that was lost");
      } catch (...) {
        if (t.step == 0) throw;  // its plan, or its rows
        if (!is_copy) errors_[{t.step, t.partition}] = {std::current_exception()};
      }
      return tell(task_failed{t, s.from});
    }
    default: throw cluster_error("cluster: a process sent what nobody asked for");
  }
}

}  // namespace query::cluster
