// What a query's leader does until what it waits for is done: what the master and the queues of this process ask for, and tasks of its own.
#include <system_error>
#include <utility>
#include <variant>

#include <query/errors.hpp>

#include "cluster/bytes.hpp"
#include "cluster/master/leader.hpp"
#include "cluster/messages.hpp"
#include "runtime/engine_failure.hpp"

namespace query::cluster {

// ---------------------------------------------------------------- what goes on
void leader::tell(const master_event& e, std::chrono::steady_clock::time_point at) {
  master_actions actions;
  master_->set_time(milliseconds_at(at));
  master_->handle(e, actions);
  act(actions);
}

void leader::act(const master_actions& actions) {
  for (const master_action& a : actions) {
    if (const auto* const start = std::get_if<start_host>(&a)) {
      to_start_.push_back(*start);
    } else if (const auto* const copy = std::get_if<take_over>(&a)) {
      if (copy_.as == copy->host) there_[copy->host.partition] = std::exchange(copy_, {});
    } else if (const auto* const ended = std::get_if<end_host>(&a)) {
      if (there* const t = known(ended->host)) close(*t);
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
    } else if (const auto* const lost = std::get_if<give_up>(&a)) {
      if (is_here(lost->host.partition)) put(lost->host.partition, given_up{lost->step});
      else send(lost->host, message_kind::give_up, std::as_bytes(std::span(&lost->step, 1)));
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
        pulls_->pull(w->task, b, work.new_block());
        continue;
      }
      block_store& held = *all_[b.at.partition].work->blocks();
      block_store::held_block pages = sent_ ? held.find_held(b.step, b.attempt, b.bucket) : nullptr;
      // Where no process can be lost, a block with one receiver goes to it.
      if (!sent_) {
        const task_result& r = master_->result(b.step, b.at.partition);
        pages = r.blocks.size() > 1 ? held.take_held(b.step, b.attempt, b.bucket) : held.find_held(b.step, b.attempt, b.bucket);
      }
      if (!pages) {
        put(partition, not_pulled{w->task, b, true});
        continue;
      }
      work.arrived(w->task, b, std::move(pages));
      put(partition, pulled{w->task, b});
    } else if (const auto* const d = std::get_if<discard>(&a)) {
      work.discard(d->task, d->what);
    } else if (const auto* const on = std::get_if<work_on>(&a)) {
      to_do_.emplace_back(partition, on->task);
    } else if (const auto* const m = std::get_if<say_missing>(&a)) {
      tell(block_missing{m->task, {partition, 1}, m->what, m->gone, m->milliseconds});
    } else if (const auto* const f = std::get_if<forget_rows>(&a)) {
      if (works_) to_forget_.emplace_back(partition, *f);
      else work.forget(*f);
    }
  }
}

void leader::begin_attending() {
  try {
    attends_.emplace([box = inbox_] { box->await(); }, [this] {
      attend(false);
      look_after_others();
    });
  } catch (const std::system_error&) {
    // No thread is to be had: others wait for the end of the task.
  }
}

// Others are attended to meanwhile: what they say is not to wait for the user's functions.
task_result leader::worked_on(here& p, const task& t) {
  if (sent_ && !attends_) begin_attending();
  works_ = true;
  attendant::scope meanwhile(attends_ ? &*attends_ : nullptr);
  const auto ended = [&] {
    error_of_others_ = meanwhile.end();
    works_ = false;
    for (const auto& [partition, rows] : std::exchange(to_forget_, {})) all_[partition].work->forget(rows);
  };
  try {
    task_result r = p.work->work(t);
    ended();
    return r;
  } catch (...) {
    ended();
    throw;
  }
}

// One task of a partition of this process. What it throws is one of several errors where others run elsewhere; the master chooses.
void leader::work_here() {
  const auto [partition, t] = std::move(to_do_.front());
  to_do_.pop_front();
  here& p = all_[partition];
  bool well = false;
  try {
    const bool left = partition && t.does == work::run && t.vertex < p.graph->vertices.size() &&
                      p.context->left_to_joins.contains(p.graph->vertices[t.vertex].get());
    task_result r;
    if (left) progressed();
    else r = worked_on(p, t);
    well = true;
    count_done(t.id, {partition, 1}, r);
    tell(task_done{t.id, {partition, 1}, std::move(r)});
  } catch (const runtime::rows_lost&) {
    throw;
  } catch (const cancelled&) {
    throw;
  } catch (...) {
    if (well || !sent_) throw;
    errors_[{t.id.step, t.id.partition}] = {std::current_exception()};
    tell(task_failed{t.id, {partition, 1}});
  }
  put(partition, worked{t.id, well});
}

// What the other processes have said since. Called by the thread that leads, or, while that works on a task, by the one that attends.
void leader::attend(bool wait) {
  std::deque<leader_inbox::said> said;
  std::deque<block_puller::outcome> pulled_now;
  inbox_->take(said, pulled_now, wait);
  for (leader_inbox::said& s : said) heard(s);
  for (block_puller::outcome& o : pulled_now) {
    if (o.error) {
      errors_[{o.task.step, 0}] = {o.error, true};
      tell(task_failed{o.task, {0, 1}});
    }
    if (o.pages) {
      all_[0].work->arrived(o.task, o.wanted, std::move(o.pages));
      put(0, pulled{o.task, o.wanted});
    } else {
      put(0, not_pulled{o.task, o.wanted, o.gone, o.milliseconds});
    }
  }
  look_for_slow();
  start_hosts();
}

void leader::look_after_others() {
  for (const there& t : there_)
    if (t.process) t.process->look_after();
}

void leader::go_on(function_ref<bool()> until) {
  for (;;) {
    if (sent_) attend(to_do_.empty() && !master_->failed() && !until());
    if (master_->failed()) raise();
    if (master_->take_rounds_lost()) throw runtime::rounds_lost();
    if (until()) return;
    if (!to_do_.empty()) {
      work_here();
      if (error_of_others_) std::rethrow_exception(std::exchange(error_of_others_, nullptr));
      // Before anything is asked of the steps of a round: a loss that was heard of meanwhile has taken them.
      if (master_->take_rounds_lost()) throw runtime::rounds_lost();
      continue;
    }
    if (!sent_) throw internal_error("query: a step of partitions waits for nothing");
    named([&] { all_[0].context->cancel.check(); });
    look_after_others();
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
    if (const auto error = errors_.find({f.task->step, f.task->partition}); error != errors_.end()) {
      const auto thrown = [&] { std::rethrow_exception(error->second.what); };
      if (error->second.unnamed) named(thrown);
      thrown();
    }
  throw runtime::process_lost(f.why);
}

void leader::count_done(const task_id& t, const host_id& by, const task_result& r) {
  const bool saves = t.step == saving_.sends;
  for (const block_size& b : r.blocks) {
    if (stays_.contains(t.step)) break;
    if (t.step == saving_.holds) break;  // what it was sent
    if (!saves) session_->sent_rows += b.rows;
    (saves ? session_->saved_bytes : session_->sent_bytes) += b.bytes;
  }
  if (is_here(t.partition) || !vertices_.contains(t.step) || copy_.as == by) return;
  const planner::vertex& v = *vertices_.at(t.step);
  const auto kept_as = cached_numbers_.find(&v);
  if (kept_as != cached_numbers_.end() && there_[t.partition].as == by)
    cluster_->cached().keeps(kept_as->second, t.partition, there_[t.partition].process);
  if (all_[0].context->progress) all_[0].context->progress->vertex_done_elsewhere();
}

void leader::progressed() const {
  if (all_[0].context->progress) all_[0].context->progress->vertex_done();
}

}  // namespace query::cluster
