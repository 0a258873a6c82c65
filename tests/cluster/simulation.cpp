#include "simulated_world.hpp"

namespace query::tests::simulated {

outcome world::run() {
  expected_ = reference(plan_);
  master_actions first;
  master_.begin(first);
  for (std::uint32_t p = 0; p < local_; ++p) processes_.push_back(made({p, 1}));
  act(first);
  lead();
  constexpr std::uint64_t most_events = 200'000;
  while (!over_ && wrong_.empty()) {
    if (events_.empty()) wrong_ = "nothing happens any more" + where();
    else if (++out_.events > most_events) wrong_ = "it does not end" + where();
    else next();
  }
  if (wrong_.empty()) check_end();
  out_.wrong = wrong_;
  out_.tasks_again = master_.repaired().tasks;
  out_.copied = master_.repaired().copied;
  out_.copies_won = master_.repaired().won;
  return out_;
}

plan world::plan_of() {
  plan p = random_plan(random_);
  if (!options_.differs) return p;
  std::vector<std::uint64_t> senders;
  for (const op& o : p.ops)
    if (o.what == op::kind::exchange && !o.from_leader) senders.push_back(o.vertex);
  if (!senders.empty()) p.differs_vertex = senders[below(senders.size())];
  return p;
}

master::options world::options_of() {
  nested_ = below(2) != 0;
  local_ = below(4) == 0 ? plan_.partitions : 1;
  lockstep_ = below(3) == 0;
  kills_left_ = options_.faults && local_ == 1 ? below(6) : 0;
  kills_late_ = below(4) == 0;
  calm_ = below(6) == 0;
  if (calm_) kills_left_ = 0;
  most_losses_ = below(5) == 0 ? 1 : 1000;
  replayable_ = below(12) != 0;
  const bool copies = options_.slow_process ? options_.copies : options_.faults && below(3);
  return {.partitions = plan_.partitions, .others_from = local_, .most_losses = most_losses_, .most_waited = 1000,
          .replayable = replayable_, .slow_after = copies ? std::uint64_t{60} : 0};
}

void world::note(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  for (const std::uint64_t x : {a, b, c}) out_.trace = (out_.trace ^ x) * 0x100000001b3 + (out_.trace >> 47);
}

void world::next() {
  look_for_slow_until(events_.top().at);
  if (!wrong_.empty()) return;
  const event e = events_.top();
  events_.pop();
  now_ = e.at;
  note(now_, e.number);
  e.what();
  maybe_kill();
  if (wrong_.empty()) lead();
}

void world::look_for_slow_until(std::uint64_t at) {
  constexpr std::uint64_t interval = 40;
  for (; next_look_ < std::min(at, events_.top().at); next_look_ += interval) {
    now_ = std::max(now_, next_look_);
    tell(look_for_slow{});
  }
}

process world::made(host_id id) {
  std::uint64_t slow = one_in(5) ? below(3) ? 10 : 150 : 1;
  if (options_.slow_process && id.partition + 1 == plan_.partitions && id.incarnation == 1) slow = 50;
  process p{id, true, slow, task_queue({.window = options_.window}), {}, {}, {}, {}};
  return p;
}

process* world::find(const host_id& id) {
  for (process& p : processes_)
    if (p.id == id) return &p;
  return nullptr;
}

// ------------------------------------------------------------ faults
void world::maybe_kill() {
  const bool late = handing_.sends || writing_;
  if (!kills_left_ || (kills_late_ && !late) || below(late ? 8 : 30)) return;
  const auto p = static_cast<std::uint32_t>(1 + below(plan_.partitions - 1));
  for (process& victim : processes_)
    if (victim.id.partition == p && victim.alive && victim.id.incarnation == incarnations_[p]) {
      --kills_left_;
      ++out_.kills;
      lose(victim.id, below(3) == 0);
      return;
    }
}

// A zombie goes on for a while, though the master has given it up.
void world::lose(host_id id, bool zombie) {
  note(1, id.partition, id.incarnation);
  if (!zombie) find(id)->alive = false;
  else later(below(below(3) ? 200 : 2000), [this, id] { find(id)->alive = false; });
  later(below(60), [this, id] { lost(id, "it was killed"); });
}

// Its end may be told twice, and much later.
void world::lost(host_id id, const char* why) {
  if (known_lost_.insert(name(id)).second && is_current(id)) most_lost_ = std::max(most_lost_, ++losses_[id.partition]);
  repeated_ |= is_current(id);
  tell(host_lost{id, why});
  if (one_in(4)) later(below(400), [this, id] { tell(host_lost{id, "it was said to be lost before"}); });
}

// ------------------------------------------------------------ the master, and messages to and from it
void world::tell(const master_event& e) {
  master_actions actions;
  master_.set_time(now_);
  const auto* const ended = std::get_if<task_done>(&e);
  const auto is_done = [&](const task_id& t) { return master_.knows(t.step) && master_.done(t.step, t.partition); };
  const bool second = ended && is_done(ended->task);
  const std::uint64_t won = master_.repaired().won;
  master_.handle(e, actions);
  if (second && master_.repaired().won > won) wrong_ = "a copy takes over, though its task was done";
  act(actions);
}

// Messages of one connection keep their order.
void world::send(std::uint64_t from, std::uint64_t to, std::function<void()> what) {
  std::uint64_t& last = channels_[{from, to}];
  last = std::max(last, now_ + (from == to ? 0 : below(20)));
  events_.push({last, ++numbers_, std::move(what)});
}

void world::act(const master_actions& actions) {
  for (const master_action& a : actions) {
    note(2, a.index());
    if (const auto* const run = std::get_if<run_task>(&a)) asked_[{place_of(run->task.id), name(run->host)}] = run->task.id.attempt;
    std::visit([&](const auto& which) {
      if constexpr (std::is_same_v<decltype(which), const start_host&>) start(which);
      else if constexpr (std::is_same_v<decltype(which), const take_over&>) take_its_place(which.host);
      else if constexpr (std::is_same_v<decltype(which), const end_host&>) end(which.host);
      else to_process(which.host, event_of(which));
    }, a);
  }
}

void world::start(const start_host& a) {
  const host_id id = a.host;
  if (!a.in) incarnations_[id.partition] = id.incarnation;
  else if (*a.in == id.partition || *a.in < local_) wrong_ = "a copy is made in a slow process, or in the leader's";
  later(below(100), [this, id] {
    if (ended_.contains(name(id))) return;
    if (one_in(8) && !(calm_ && is_current(id))) return lost(id, "it did not start");
    processes_.push_back(made(id));
    tell(host_ready{id});
    if (one_in(6)) later(below(300), [this, id] { tell(host_ready{id}); });
    if (!is_current(id) && one_in(8)) later(below(500), [this, id] { lose(id, below(3) == 0); });
  });
}

void world::take_its_place(const host_id& id) {
  incarnations_[id.partition] = id.incarnation;
  repeated_ = true;
  for (const auto& [of, read] : read_by_copy_)
    if (of.second == name(id)) read_[of.first] = read;
}

void world::end(const host_id& id) {
  ended_.insert(name(id));
  send(0, name(id), [this, id] {
    if (process* const p = find(id)) p->alive = false;
  });
}

void world::to_process(host_id id, queue_event e) {
  if (is_nested(id)) return put(*find(id), e);
  send(0, name(id), [this, id, e] {
    process* const p = find(id);
    if (p && p->alive) put(*p, e);
  });
}

void world::to_master(const host_id& from, const master_event& e) {
  if (is_nested(from)) return tell(e);
  send(name(from), 0, [this, e] { tell(e); });
  if (one_in(50)) later(below(300), [this, e] { tell(e); });  // once more, much later
}

// ------------------------------------------------------------ processes
void world::put(process& p, const queue_event& e) {
  queue_actions actions;
  p.queue.handle(e, actions);
  const std::uint64_t on_the_way = p.queue.on_the_way();
  pulls_[p.id] += std::count_if(actions.begin(), actions.end(), [](const auto& a) { return std::holds_alternative<pull>(a); });
  if (on_the_way > options_.window && pulls_[p.id] > 1) wrong_ = "more is on its way than the window";
  for (const queue_action& a : actions) do_it(p.id, a);
}

void world::do_it(host_id id, const queue_action& a) {
  note(3, a.index(), name(id));
  process& p = *find(id);
  if (const auto* const w = std::get_if<pull>(&a)) {
    const pull want = *w;
    if (master_.is_copy(want.what.at) && want.what.at != id) wrong_ = "rows of a copy are read, which may not come first";
    if (nested_ && (want.what.at == id || (is_nested(id) && is_nested(want.what.at)))) return pulled_now(id, want);
    later(below(want.what.at == id ? 2 : 50), [this, id, want] { pulled_now(id, want); });
  } else if (const auto* const d = std::get_if<discard>(&a)) {
    p.inbox[{d->task.step, d->task.attempt}].erase(name(d->what));
  } else if (const auto* const m = std::get_if<say_missing>(&a)) {
    to_master(id, block_missing{m->task, id, m->what, m->gone, m->milliseconds});
  } else if (const auto* const f = std::get_if<forget_rows>(&a)) {
    if (f->in_blocks) p.sent.erase(f->step);
    else if (is_variable(f->vertex)) p.variables.erase(f->step);
    else p.tables.erase(f->vertex);
  } else if (const auto* const w = std::get_if<work_on>(&a)) {
    const task t = w->task;
    later(below(20 * p.slow), [this, id, t] {
      if (process* const there = find(id); there && there->alive) work_now(*there, t);
    });
  }
}

void world::pulled_now(host_id id, const pull& want) {
  process* const p = find(id);
  if (!p || !p->alive) return;
  --pulls_[id];
  const process* const from = find(want.what.at);
  if (plan_.pulls_fail && one_in(is_current(id) ? 100 : 5)) return pull_fails(*p, want);
  if (!from || !from->alive || one_in(40)) return put(*p, not_pulled{want.task, want.what, false, 1});
  if (!calm_ && one_in(80) && !held_.contains(want.what.step)) {  // it has no file any more, say
    find(want.what.at)->sent.erase(want.what.step);
    repeated_ = true;
  }
  const auto held = from->sent.find(want.what.step);
  if (held == from->sent.end() || held->second.first != want.what.attempt) return put(*p, not_pulled{want.task, want.what, true});
  p->inbox[{want.task.step, want.task.attempt}][name(want.what)] = held->second.second.at(want.what.bucket);
  put(*p, pulled{want.task, want.what});
}

bool world::is_pending(const task_id& t) const {
  const auto has = [&](const auto& known) { return std::find(known.second.begin(), known.second.end(), t.step) != known.second.end(); };
  return std::any_of(steps_.begin(), steps_.end(), has) && master_.knows(t.step) && !master_.done(t.step, t.partition);
}

// An error ends the query if its task is still wanted then.
void world::pull_fails(process& p, const pull& want) {
  const host_id id = p.id;
  send(name(id), 0, [this, id, t = want.task] {
    const bool counts = is_current(id) && !known_lost_.contains(name(id)) && !plan_.differs_vertex;
    const bool wanted = counts && asked_[{place_of(t), name(id)}] == t.attempt && is_pending(t);
    if (is_current(id)) pulls_failed_.insert(place_of(t));
    if (wanted) errors_of_pulls_.insert(t.step);
    tell(task_failed{t, id});
  });
  put(p, not_pulled{want.task, want.what, false, 1});
}

void world::work_now(process& p, const task& t) {
  const op& o = *ops_of_[t.vertex];
  const std::uint32_t here = p.id.partition;
  const bool computes = t.does != work::receive;
  if (computes && t.does != work::hold && t.vertex % variable_numbers == plan_.fails_vertex &&
      std::find(plan_.fails_in.begin(), plan_.fails_in.end(), here) != plan_.fails_in.end()) {
    to_master(p.id, task_failed{t.id, p.id});
    return put(p, worked{t.id, false});
  }
  task_result r;
  const auto read = [&] {
    std::vector<const rows*> all;
    for (const std::uint64_t v : o.reads) {
      const auto table = p.tables.find(v);
      const auto of_round = std::find_if(t.reads.begin(), t.reads.end(), [&](step_id s) { return p.variables.contains(s); });
      if (plan_.variables.contains(v) && of_round != t.reads.end()) all.push_back(&p.variables.at(*of_round));
      else if (table == p.tables.end()) wrong_ = "a task reads what is not there" + where();
      else all.push_back(&table->second);
    }
    return all;
  };
  const auto made = [&] {
    rows all = o.from_leader ? of_leader(t.vertex, taken_[o.reads[0]])
               : o.reads.empty() ? source_rows(t.vertex, here) : computed(t.vertex % variable_numbers, read());
    if (t.vertex % variable_numbers != plan_.differs_vertex || t.id.attempt == 1) return all;
    differed_ = true;
    return differing(std::move(all), t.id.attempt);
  };
  switch (t.does) {
    case work::run: (is_variable(t.vertex) ? p.variables[t.id.step] : p.tables[t.vertex]) = made(); break;
    case work::count: r.rows = made().size(); break;
    case work::sample: {
      rows all = made();
      all.resize(std::min<std::size_t>(all.size(), rows_of(t.argument).at(0)));
      r.answer = bytes_of(all);
      break;
    }
    case work::write: return write_now(p.id, t, computed(t.vertex, read()));
    case work::fold: {
      r.answer = bytes_of({sum(computed(t.vertex, read()))});
      break;
    }
    case work::send: {
      std::vector<rows> apart = is_variable(t.vertex) ? std::vector<rows>{p.variables.at(t.reads.at(0))}
                               : o.what == op::kind::hand_on ? pieces(made())
                                                      : buckets(o.moves, made(), plan_.partitions, rows_of(t.argument));
      for (const rows& b : apart) r.blocks.push_back({b.size(), b.size() * 8, sum(b)});
      if (!t.only.empty() && apart.size() > 1)
        for (std::uint32_t b = 0; b < apart.size(); ++b)
          if (std::find(t.only.begin(), t.only.end(), b) == t.only.end()) apart[b].assign(1, 666);
      p.sent[t.id.step] = {t.id.attempt, std::move(apart)};
      break;
    }
    case work::hold:
    case work::receive: {
      rows all;
      std::vector<rows> each;
      auto& read = is_current(p.id) ? read_[place_of(t.id)] : read_by_copy_[{place_of(t.id), name(p.id)}];
      if (read.first <= t.id.attempt || !is_current(p.id)) read = {t.id.attempt, t.blocks};
      auto& inbox = p.inbox[{t.id.step, t.id.attempt}];
      for (const block& b : t.blocks) {
        if (!inbox.contains(name(b))) wrong_ = "a task begins without a block" + where();
        if (sum(inbox[name(b)]) != b.size.checksum) wrong_ = "a block is another than the master said" + where();
        all.insert(all.end(), inbox[name(b)].begin(), inbox[name(b)].end());
        each.push_back(std::move(inbox[name(b)]));
        r.blocks.push_back(b.size);
        inbox.erase(name(b));
      }
      if (t.does == work::hold) p.sent[t.id.step] = {t.id.attempt, std::move(each)};
      else (is_variable(t.vertex) ? p.variables[t.id.step] : p.tables[t.vertex]) = std::move(all);
      if (t.does == work::receive) r.blocks.clear();
      break;
    }
    default: break;
  }
  to_master(p.id, task_done{t.id, p.id, std::move(r)});
  put(p, worked{t.id, true});
}

outcome simulate(const options& o) { return world(o).run(); }

}  // namespace query::tests::simulated
