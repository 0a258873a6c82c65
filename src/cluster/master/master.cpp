#include "cluster/master/master.hpp"

#include <algorithm>

namespace query::cluster {

namespace {

// Of the buckets that an attempt made (none: all), is this one there? One block may be for all receivers.
bool has_bucket(const std::vector<std::uint32_t>& made, const task_result& r, std::uint32_t bucket) {
  return made.empty() || r.blocks.size() == 1 || std::find(made.begin(), made.end(), bucket) != made.end();
}

std::size_t index_of_block(const task_result& sent, std::uint32_t receiver) { return sent.blocks.size() == 1 ? 0 : receiver; }

}  // namespace

master::master(options o) : options_(o), hosts_(o.partitions) {}

void master::begin(master_actions& out) {
  for (std::uint32_t p = 0; p < hosts_.size(); ++p) {
    hosts_[p].incarnation = hosts_[p].made = 1;
    if (local(p)) hosts_[p].now = host::is::ready;
    else out.push_back(start_host{host_of(p)});
  }
}

step_id master::submit(step s, master_actions& out) {
  const step_id id = ++last_;
  known_step& k = steps_[id];
  k.what = std::move(s);
  k.tasks.resize(k.what.partitions);
  bool gone = false;  // something that it reads
  const auto reads = [&](step_id r, bool same_partition) {
    const auto found = steps_.find(r);
    if (found == steps_.end()) return fail({{}, "rows that were given up are to be read"});
    found->second.readers.push_back(id);
    for (std::uint32_t p = 0; p < found->second.tasks.size(); ++p)
      gone |= found->second.tasks[p].is == state::idle && (!same_partition || p < k.tasks.size());
  };
  for (const step_id r : k.what.reads) reads(r, true);
  if (k.what.receives) reads(k.what.receives, false);
  if (k.what.only && !failed_) {
    one& sender = steps_.at(k.what.receives).tasks.at(k.what.only->sender);
    sender.given = std::max(sender.given, k.what.only->bucket + 1);
  }
  if (failed_) return id;
  for (std::uint32_t p = 0; p < k.tasks.size(); ++p) set(k, p, state::waiting);
  if (gone) settle(out);
  for (std::uint32_t p = 0; p < k.tasks.size(); ++p) try_run(id, p, out);
  return id;
}

void master::release(const std::vector<step_id>& done, master_actions& out) {
  for (const step_id s : done) steps_.at(s).released = true;
  for (const step_id s : done) try_drop(s, out);
}

void master::handle(const master_event& e, master_actions& out) {
  std::visit([&](const auto& which) { on(which, out); }, e);
  // Tasks before the one that failed go on: one of them may fail, too.
  if (!fails_at_ || failed_) return;
  for (const auto& [id, k] : steps_) {
    if (id > fails_at_->first) break;
    for (std::uint32_t p = 0; p < k.tasks.size() && place{id, p} < *fails_at_; ++p)
      if (k.tasks[p].is == state::waiting || k.tasks[p].is == state::asked) return;
  }
  const one& t = steps_.at(fails_at_->first).tasks[fails_at_->second];
  fail({task_id{fails_at_->first, fails_at_->second, t.attempt}, ""});
}

// Nothing is done from the task on that failed.
bool master::done(step_id s) const { return steps_.at(s).pending == 0 && !(fails_at_ && s >= fails_at_->first); }
bool master::done(step_id s, std::uint32_t partition) const {
  const state is = steps_.at(s).tasks.at(partition).is;
  return is != state::waiting && is != state::asked && !(fails_at_ && place{s, partition} >= *fails_at_);
}
const task_result& master::result(step_id s, std::uint32_t partition) const { return steps_.at(s).tasks.at(partition).result; }

std::optional<std::uint32_t> master::current(const task_id& t, const host_id& h) const {
  const auto found = steps_.find(t.step);
  if (found == steps_.end() || t.partition >= found->second.tasks.size()) return std::nullopt;
  const std::uint32_t at = copy_ && copy_->host == h ? copy_place() : t.partition;
  if (!has_place(found->second, at) || partition_of(at) != t.partition) return std::nullopt;
  const one& known = task_at(found->second, at);
  if (known.is == state::asked && known.attempt == t.attempt && known.host == h) return at;
  return std::nullopt;
}

std::vector<std::uint32_t> master::places(const known_step& k) const {
  std::vector<std::uint32_t> all;
  for (std::uint32_t p = 0; p < k.tasks.size(); ++p) all.push_back(p);
  if (has_place(k, copy_place())) all.push_back(copy_place());
  return all;
}

// The copy of a receiver takes what the slow process has sent, or else what the copy sends.
std::uint32_t master::place_of_sender(const known_step& sending, std::uint32_t receiver, std::uint32_t sender) const {
  const bool own = receiver == copy_place() && sender == copy_->host.partition && sending.tasks[sender].is != state::done;
  return own ? copy_place() : sender;
}

void master::set(known_step& k, std::uint32_t p, state now) {
  one& t = task_at(k, p);
  if (p == copy_place()) {
    t.is = now;
    return;
  }
  const auto pending = [](state is) { return is == state::waiting || is == state::asked; };
  k.done += (now == state::done) - (t.is == state::done);
  k.pending += pending(now) - pending(t.is);
  if (now == state::waiting && t.attempt) ++repaired_.tasks;
  t.is = now;
}

// None: all.
std::vector<std::uint32_t> master::buckets_wanted(const known_step& sending) const {
  std::vector<std::uint32_t> wanted;
  bool somebody_has = false;
  for (const step_id r : sending.readers) {
    const auto found = steps_.find(r);
    if (found == steps_.end()) continue;
    for (std::uint32_t p = 0; p < found->second.tasks.size(); ++p) {
      if (found->second.tasks[p].is == state::done) somebody_has = true;
      else wanted.push_back(p);
    }
    if (is_pending(found->second.copy)) wanted.push_back(copy_->host.partition);
  }
  if (!somebody_has) wanted.clear();
  return wanted;
}

block master::block_for(const step& receiving, std::uint32_t sender, std::uint32_t receiver) const {
  const step_id sending = receiving.receives;
  const std::uint32_t at = place_of_sender(steps_.at(sending), receiver, sender);
  const one& from = task_at(steps_.at(sending), at);
  if (from.is != state::done) return {sending, 0, host_of(at), 0, {}};  // there will be one
  const std::size_t i = receiving.only ? receiving.only->bucket : index_of_block(from.result, partition_of(receiver));
  return {sending, static_cast<std::uint32_t>(i), from.host, from.attempt, from.result.blocks.at(i)};
}

// A process works its tasks off when what they read is there: a task may be asked for as soon as those that it reads have been.
bool master::may_run(step_id s, const known_step& k, std::uint32_t p) const {
  const bool is_ready = p == copy_place() ? copy_->ready : hosts_[p].now == host::is::ready;
  if (failed_ || !is_ready || (fails_at_ && !(place{s, p} < *fails_at_))) return false;
  for (const step_id r : k.what.reads) {
    const state is = task_at(steps_.at(r), p).is;
    if (is != state::asked && is != state::done) return false;
  }
  if (!k.what.receives) return true;
  // It pulls the blocks of those who have sent while others are at it, and begins when it has all.
  const known_step& sending = steps_.at(k.what.receives);
  if (k.what.only) return sending.tasks[k.what.only->sender].is == state::done;
  bool some = false;
  for (std::uint32_t q = 0; q < sending.tasks.size(); ++q) {
    const one& t = task_at(sending, place_of_sender(sending, p, q));
    if (t.is != state::done) continue;
    some = true;
    if (!has_bucket(t.only, t.result, partition_of(p))) return false;
  }
  return some;
}

void master::try_run(step_id s, std::uint32_t p, master_actions& out) {
  std::vector<place> tries{{s, p}};
  while (!tries.empty()) {
    const auto [id, at] = tries.back();
    tries.pop_back();
    known_step& k = steps_.at(id);
    if (!has_place(k, at)) continue;
    one& t = task_at(k, at);
    if (t.is != state::waiting || !may_run(id, k, at)) continue;
    const std::uint32_t partition = partition_of(at);
    t.attempt = ++k.tasks[partition].attempts;
    run_task run{host_of(at), {{id, partition, t.attempt}, k.what.does, k.what.vertex, k.what.reads, {}, {}, {}}};
    if (!k.what.arguments.empty()) run.task.argument = k.what.arguments[k.what.arguments.size() == 1 ? 0 : partition];
    if (k.what.does == work::send && t.attempt > 1 && !k.what.in_pieces) run.task.only = buckets_wanted(k);
    if (k.what.receives) {
      const auto senders = static_cast<std::uint32_t>(steps_.at(k.what.receives).tasks.size());
      for (std::uint32_t q = 0; q < senders; ++q)
        if (reads_sender(k.what, q)) run.task.blocks.push_back(block_for(k.what, q, at));
      t.waited.assign(senders, 0);
    }
    t.host = run.host;
    t.only = run.task.only;
    t.asked = now_;
    set(k, at, state::asked);
    out.push_back(std::move(run));
    for (const step_id r : k.readers) {
      const auto found = steps_.find(r);
      if (found != steps_.end() && found->second.what.receives != id) tries.emplace_back(r, at);
    }
  }
}

// After a loss: what is missing runs again. Readers come behind what they read, so one pass backwards finds all that is wanted.
void master::settle(master_actions& out) {
  bool too_late_to_copy = false;
  for (auto i = steps_.rbegin(); i != steps_.rend(); ++i) {
    known_step& k = i->second;
    for (const std::uint32_t p : places(k)) {
      one& t = task_at(k, p);
      const bool copies = p == copy_place();
      if (t.is == state::idle && !k.released && leaves_rows(k.what.does) && !copies) set(k, p, state::waiting);
      const state is = t.is;
      if (is != state::waiting && is != state::asked) continue;
      const auto want = [&](known_step& of, std::uint32_t q) {
        if (!of.released) return set(of, q, state::waiting);
        if (copies) too_late_to_copy = true;
        else fail({{}, "rows that were given up would have to be computed again"});
      };
      if (is == state::waiting)
        for (const step_id r : k.what.reads)
          if (known_step& of = steps_.at(r); task_at(of, p).is == state::idle) want(of, p);
      if (!k.what.receives) continue;
      known_step& sending = steps_.at(k.what.receives);
      for (std::uint32_t q = 0; q < sending.tasks.size(); ++q) {
        if (!reads_sender(k.what, q)) continue;
        const std::uint32_t from = place_of_sender(sending, p, q);
        const one& sender = task_at(sending, from);
        const bool lacks = is == state::waiting && sender.is == state::done && !has_bucket(sender.only, sender.result, partition_of(p));
        if (sender.is == state::idle || lacks) want(sending, from);
      }
    }
  }
  if (too_late_to_copy) end_copy(out);
  for (const auto& [id, k] : steps_)
    for (const std::uint32_t p : places(k))
      if (task_at(k, p).is == state::waiting) try_run(id, p, out);
}

void master::on(const host_ready& e, master_actions& out) {
  const bool copies = copy_ && copy_->host == e.host;
  if (copies) copy_->ready = true;
  else if (e.host.partition >= hosts_.size() || host_of(e.host.partition) != e.host) return;
  else hosts_[e.host.partition].now = host::is::ready;
  for (const auto& [id, k] : steps_) try_run(id, copies ? copy_place() : e.host.partition, out);
}

void master::on(const host_lost& e, master_actions& out) {
  const std::uint32_t p = e.host.partition;
  if (copy_ && copy_->host == e.host) return end_copy(out);
  if (p >= hosts_.size() || local(p) || host_of(p) != e.host) return;
  ++repaired_.hosts;
  if (++hosts_[p].losses > options_.most_losses || !options_.replayable) return fail({{}, e.why});
  replace_host(p, out);
}

// By its copy, if it has one, which has done some of its tasks.
void master::replace_host(std::uint32_t p, master_actions& out) {
  host& h = hosts_[p];
  const bool by_copy = copy_ && copy_->host.partition == p;
  h.incarnation = by_copy ? copy_->host.incarnation : ++h.made;
  h.now = by_copy && copy_->ready ? host::is::ready : host::is::starting;
  const auto is_lost = [](const auto& known) { return known.second.what.of_round && !is_held(known.second); };
  if (std::any_of(steps_.begin(), steps_.end(), is_lost)) {
    rounds_lost_ = true;
    give_up_rounds(false, out);
  }
  if (by_copy) out.push_back(take_over{host_of(p)});
  else out.push_back(start_host{host_of(p)});
  std::vector<step_id> sent;
  for (auto& [id, k] : steps_) {
    if (p >= k.tasks.size()) continue;
    if (by_copy && k.what.does == work::send && k.copy.is == state::done) sent.push_back(id);
    replace_task(k, p, by_copy ? std::exchange(k.copy, {}) : one{});
  }
  if (by_copy) copy_.reset();
  settle(out);
  if (by_copy) after_copy(sent, p, out);
}

void master::replace_task(known_step& k, std::uint32_t p, const one& copy) {
  one& t = k.tasks[p];
  const bool leaves_something = leaves_rows(k.what.does) || k.what.does == work::send;
  if (copy.is != state::idle && t.is != state::failed && (t.is != state::done || leaves_something)) {
    t.attempt = copy.attempt;
    t.host = copy.host;
    t.only = copy.only;
    t.waited = copy.waited;
    t.asked = copy.asked;
    if (copy.is == state::done) t.result = copy.result;
    return set(k, p, copy.is);
  }
  if (t.is == state::asked) set(k, p, state::waiting);
  // Answers are here.
  if (t.is == state::done && leaves_something) set(k, p, state::idle);
}

void master::on(const task_done& e, master_actions& out) {
  const auto at = current(e.task, e.host);
  if (!at) return;
  const step_id s = e.task.step;
  const std::uint32_t p = e.task.partition;
  known_step& k = steps_.at(s);
  one& t = task_at(k, *at);
  const task_result before = std::exchange(t.result, e.result);
  set(k, *at, state::done);
  if (*at == copy_place()) return copy_done(s, out);
  t.took = now_ - std::min(now_, works_since(k, p));
  hosts_[p].last_done = k.last_done = now_;
  if (copy_ && place{s, p} == place{copy_->of, copy_->host.partition}) end_copy(out);  // it has come first
  if (k.what.does == work::send) {
    if (stays_alone(s, p, before, out)) return;
    if (!same_as_before(s, p, before, out))
      return fail({{}, "rows that were lost come out another way when they are computed again"});
    if (k.tasks[p].is == state::done) offer_blocks(s, p, out);  // else it runs once more, for others too
  }
  for (const step_id r : k.what.reads) try_drop(r, out);
  if (k.what.receives && k.done == k.tasks.size()) try_drop(k.what.receives, out);
  try_drop(s, out);
}

// The error of a copy is nobody's: the task itself goes on.
void master::on(const task_failed& e, master_actions& out) {
  const auto is = current(e.task, e.host);
  if (!is) return;
  if (copy_ && partition_of(*is) == copy_->host.partition) end_copy(out);
  if (*is == copy_place()) return;
  const place at{e.task.step, e.task.partition};
  set(steps_.at(e.task.step), e.task.partition, state::failed);
  if (!fails_at_ || at < *fails_at_) fails_at_ = at;
}

void master::on(const block_missing& e, master_actions& out) {
  const auto at = current(e.task, e.host);
  const auto sending = steps_.find(e.wanted.step);
  if (!at || sending == steps_.end() || steps_.at(e.task.step).what.receives != e.wanted.step) return;
  const std::uint32_t q = e.wanted.at.partition;
  if (q >= sending->second.tasks.size()) return;
  const bool copies = *at == copy_place();
  if (e.gone && sending->second.what.does == work::hold) return fail({{}, "rows of a round that was saved are not there any more"});
  const std::uint32_t from_place = copy_ && copy_->host == e.wanted.at ? copy_place() : q;
  const one& from = task_at(sending->second, from_place);
  if (from.is != state::done || from.host != e.wanted.at || from.attempt != e.wanted.attempt) return;  // there is another, or there will be
  if (e.gone) {
    set(sending->second, from_place, state::idle);
    return settle(out);
  }
  one& t = task_at(steps_.at(e.task.step), *at);
  if ((t.waited.at(q) += e.milliseconds) > options_.most_waited) {
    if (copies) return end_copy(out);
    return fail({{}, "process " + std::to_string(e.task.partition + 1) + " gets no rows from process " + std::to_string(q + 1)});
  }
  out.push_back(redirect{e.host, e.task, block_for(steps_.at(e.task.step).what, q, *at)});
}

// A sender's task is done, once more perhaps: those who pull are told where its block is now, others may begin.
void master::offer_blocks(step_id sending, std::uint32_t sender, master_actions& out) {
  const known_step& from = steps_.at(sending);
  const one& sent = task_at(from, sender);
  const std::uint32_t of = partition_of(sender);
  bool lacking = false;
  for (const step_id r : from.readers) {
    known_step& receiving = steps_.at(r);
    if (!reads_sender(receiving.what, of)) continue;
    for (const std::uint32_t p : places(receiving)) {
      one& t = task_at(receiving, p);
      if (!is_pending(t) || place_of_sender(from, p, of) != sender) continue;
      const std::uint32_t partition = partition_of(p);
      if (!has_bucket(sent.only, sent.result, partition)) lacking = true;
      else if (t.is == state::asked) out.push_back(redirect{t.host, {r, partition, t.attempt}, block_for(receiving.what, of, p)});
      else try_run(r, p, out);
    }
  }
  if (!lacking) return;
  set(steps_.at(sending), sender, state::idle);  // somebody was lost meanwhile who had its block
  settle(out);
}

// A sender's task that ran again: rows that come out another way make all wrong that was computed from the earlier ones, which runs anew.
// A bucket that nobody asked for is compared, too.
// False: some of it has left already.
bool master::same_as_before(step_id sending, std::uint32_t sender, const task_result& before, master_actions& out) {
  known_step& k = steps_.at(sending);
  one& t = k.tasks[sender];
  if (k.what.in_pieces) {
    for (std::uint32_t b = 0; b < t.given && b < before.blocks.size(); ++b)
      if (b >= t.result.blocks.size() || !before.blocks[b].alike(t.result.blocks[b])) return false;
    return true;
  }
  bool anew = false;
  for (std::uint32_t b = 0; b < before.blocks.size() && b < t.result.blocks.size(); ++b) {
    if (before.blocks[b].alike(t.result.blocks[b])) continue;
    for (const step_id r : k.readers) {
      const auto found = steps_.find(r);
      if (found == steps_.end()) continue;
      for (std::uint32_t p = 0; p < found->second.tasks.size(); ++p)
        if (index_of_block(t.result, p) == b) {
          if (!compute_anew(r, p)) return false;
          anew = true;
        }
    }
  }
  if (anew) settle(out);
  return true;
}

// The rows of a receiving task, and all that was made of them in its partition.
bool master::compute_anew(step_id receiving, std::uint32_t p) {
  std::vector<step_id> stale{receiving};
  while (!stale.empty()) {
    const step_id s = stale.back();
    known_step& k = steps_.at(s);
    stale.pop_back();
    if (p >= k.tasks.size()) continue;
    const state is = k.tasks[p].is;
    if (is != state::asked && is != state::done) continue;
    if (is == state::done && (local(p) || !(leaves_rows(k.what.does) || k.what.does == work::send))) return false;
    set(k, p, k.released && is == state::done ? state::idle : state::waiting);
    for (const step_id r : k.readers)
      if (const auto found = steps_.find(r); found != steps_.end() && found->second.what.receives != s) stale.push_back(r);
  }
  return true;
}

// Readers that are given up with what they read want nothing any more.
void master::give_up_rounds(bool held_too, master_actions& out) {
  std::vector<step_id> gone, rest;
  for (const auto& [id, k] : steps_) {
    if (!k.what.of_round || (is_held(k) && !held_too)) {
      rest.push_back(id);
      continue;
    }
    gone.push_back(id);
    for (std::uint32_t p = 0; p < k.tasks.size(); ++p)
      if (k.tasks[p].attempt && k.tasks[p].host == host_of(p)) out.push_back(give_up{host_of(p), id});
  }
  for (const step_id s : gone) steps_.erase(s);
  if (fails_at_ && !steps_.contains(fails_at_->first)) fails_at_.reset();
  for (const step_id s : rest)
    if (const auto known = steps_.find(s); known != steps_.end()) {
      std::erase_if(known->second.readers, [&](step_id r) { return !steps_.contains(r); });
      try_drop(s, out);
    }
}

void master::try_drop(step_id s, master_actions& out) {
  const auto found = steps_.find(s);
  if (found == steps_.end()) return;
  known_step& k = found->second;
  const bool sends = k.what.does == work::send;
  if (is_pending(k) || !(k.released || (sends && !k.what.in_pieces && !k.readers.empty()))) return;
  std::erase_if(k.readers, [&](step_id r) { return !steps_.contains(r); });
  bool read_later = false, known_readers = false;
  for (const step_id r : k.readers) {
    const auto reader = steps_.find(r);
    if (reader == steps_.end()) continue;
    known_readers = true;
    read_later |= is_pending(reader->second);
  }
  // Blocks go when all have them. Who loses its rows has them sent again.
  if (read_later) return;
  for (std::uint32_t p = 0; p < k.tasks.size(); ++p) {
    if (k.tasks[p].is != state::done) continue;
    if (leaves_blocks(k.what.does) || leaves_rows(k.what.does)) {
      out.push_back(drop{host_of(p), s});
      set(k, p, state::idle);
    }
  }
  if (k.copy.is == state::done) {
    out.push_back(drop{copy_->host, s});
    k.copy.is = state::idle;
  }
  // What is still known may have to run again for a reader's sake, or say that it cannot.
  if (!k.released || known_readers) return;
  const std::vector<step_id> read = k.what.reads;
  const step_id received = k.what.receives;
  steps_.erase(found);
  for (const step_id r : read) try_drop(r, out);
  if (const auto sender = steps_.find(received); sender != steps_.end()) std::erase(sender->second.readers, s);
  if (received) try_drop(received, out);
}

}  // namespace query::cluster
