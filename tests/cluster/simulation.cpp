#include "simulation.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <variant>

namespace query::tests::simulated {

using namespace query::cluster;

namespace {

// A process of a partition. What a lost one still sends, as a zombie does, the master has to see through.
struct process {
  host_id id;
  bool alive = true, slow = false;
  task_queue queue;
  std::map<std::uint64_t, rows> tables;                                     // by vertex
  std::map<step_id, std::pair<std::uint32_t, std::vector<rows>>> sent;      // with the attempt that made them
  std::map<std::pair<step_id, std::uint32_t>, std::map<std::uint64_t, rows>> inbox;  // of a task's attempt, by sender's attempt
};

class world {
 public:
  explicit world(const options& o) : options_(o), random_(o.seed), plan_(random_plan(random_)), master_(options_of()) {}

  outcome run() {
    expected_ = reference();
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
    return out_;
  }

 private:
  struct event {
    std::uint64_t at = 0, number = 0;
    std::function<void()> what;
    bool operator<(const event& e) const { return std::pair(at, number) > std::pair(e.at, e.number); }
  };

  master::options options_of() {
    local_ = below(4) == 0 ? plan_.partitions : 1;
    lockstep_ = below(3) == 0;
    kills_left_ = options_.faults && local_ == 1 ? below(6) : 0;
    most_losses_ = below(5) == 0 ? 1 : 1000;
    replayable_ = below(12) != 0;
    return {.partitions = plan_.partitions, .others_from = local_, .most_losses = most_losses_, .most_misses = 1000,
            .replayable = replayable_};
  }
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool one_in(std::uint64_t n) { return options_.faults && below(n) == 0; }
  void later(std::uint64_t delay, std::function<void()> what) { events_.push({now_ + delay, ++numbers_, std::move(what)}); }
  void note(std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) {
    for (const std::uint64_t x : {a, b, c}) out_.trace = (out_.trace ^ x) * 0x100000001b3 + (out_.trace >> 47);
  }
  void next() {
    const event e = events_.top();
    events_.pop();
    now_ = e.at;
    note(now_, e.number);
    e.what();
    maybe_kill();
    if (wrong_.empty()) lead();
  }
  std::string where() const { return " at op " + std::to_string(at_) + " of " + std::to_string(plan_.ops.size()); }

  process made(host_id id) {
    process p{id, true, one_in(5), task_queue({.window = options_.window}), {}, {}, {}};
    return p;
  }
  process* find(const host_id& id) {
    for (process& p : processes_)
      if (p.id == id) return &p;
    return nullptr;
  }

  // ------------------------------------------------------------ faults
  void maybe_kill() {
    if (!kills_left_ || below(30)) return;
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
  void lose(host_id id, bool zombie) {
    note(1, id.partition, id.incarnation);
    if (!zombie) find(id)->alive = false;
    else later(below(200), [this, id] { find(id)->alive = false; });
    later(below(60), [this, id] { lost(id, "it was killed"); });
  }
  // Its end may be told twice, and much later.
  void lost(host_id id, const char* why) {
    if (known_lost_.insert(name(id)).second) most_lost_ = std::max(most_lost_, ++losses_[id.partition]);
    tell(host_lost{id, why});
    if (one_in(4)) later(below(400), [this, id] { tell(host_lost{id, "it was said to be lost before"}); });
  }

  // ------------------------------------------------------------ the master, and messages to and from it
  void tell(const master_event& e) {
    master_actions actions;
    master_.handle(e, actions);
    act(actions);
  }
  // Messages of one connection keep their order.
  void send(std::uint64_t from, std::uint64_t to, std::function<void()> what) {
    std::uint64_t& last = channels_[{from, to}];
    last = std::max(last, now_ + (from == to ? 0 : below(20)));
    events_.push({last, ++numbers_, std::move(what)});
  }
  static std::uint64_t name(const host_id& id) { return (std::uint64_t{id.partition} << 32) + id.incarnation; }
  static std::uint64_t name(const block& b) { return (name(b.at) << 12) + b.attempt; }

  void act(const master_actions& actions) {
    for (const master_action& a : actions) {
      note(2, a.index());
      if (const auto* const start = std::get_if<start_host>(&a)) {
        const host_id id = start->host;
        incarnations_[id.partition] = id.incarnation;
        later(below(100), [this, id] {
          if (one_in(8)) return lost(id, "it did not start");
          processes_.push_back(made(id));
          tell(host_ready{id});
          if (one_in(6)) later(below(300), [this, id] { tell(host_ready{id}); });
        });
        continue;
      }
      std::visit([&](const auto& which) {
        if constexpr (requires { which.host; }) to_process(which.host, event_of(which));
      }, a);
    }
  }
  static queue_event event_of(const run_task& a) { return a.task; }
  static queue_event event_of(const redirect& a) { return other_block{a.task, a.instead}; }
  static queue_event event_of(const drop& a) { return no_longer_read{a.step}; }
  static queue_event event_of(const start_host&) { return {}; }
  void to_process(host_id id, queue_event e) {
    send(0, name(id), [this, id, e] {
      process* const p = find(id);
      if (p && p->alive) put(*p, e);
    });
  }
  void to_master(const host_id& from, const master_event& e) {
    send(name(from), 0, [this, e] { tell(e); });
    if (one_in(50)) later(below(300), [this, e] { tell(e); });  // once more, much later
  }

  // ------------------------------------------------------------ processes
  void put(process& p, const queue_event& e) {
    queue_actions actions;
    p.queue.handle(e, actions);
    const std::uint64_t on_the_way = p.queue.on_the_way();
    pulls_[p.id] += std::count_if(actions.begin(), actions.end(), [](const auto& a) { return std::holds_alternative<pull>(a); });
    if (on_the_way > options_.window && pulls_[p.id] > 1) wrong_ = "more is on its way than the window";
    for (const queue_action& a : actions) do_it(p.id, a);
  }
  void do_it(host_id id, const queue_action& a) {
    note(3, a.index(), name(id));
    process& p = *find(id);
    if (const auto* const w = std::get_if<pull>(&a)) {
      const pull want = *w;
      later(below(want.what.at == id ? 2 : 50), [this, id, want] { pulled_now(id, want); });
    } else if (const auto* const d = std::get_if<discard>(&a)) {
      p.inbox[{d->task.step, d->task.attempt}].erase(name(d->what));
    } else if (const auto* const m = std::get_if<say_missing>(&a)) {
      to_master(id, block_missing{m->task, id, m->what, m->gone});
    } else if (const auto* const f = std::get_if<forget_rows>(&a)) {
      if (f->in_blocks) p.sent.erase(f->step);
      else p.tables.erase(f->vertex);
    } else if (const auto* const w = std::get_if<work_on>(&a)) {
      const task t = w->task;
      later(below(p.slow ? 200 : 20), [this, id, t] {
        if (process* const there = find(id); there && there->alive) work_now(*there, t);
      });
    }
  }
  void pulled_now(host_id id, const pull& want) {
    process* const p = find(id);
    if (!p || !p->alive) return;
    --pulls_[id];
    const process* const from = find(want.what.at);
    if (!from || !from->alive || one_in(40)) return put(*p, not_pulled{want.task, want.what, false});
    if (one_in(80)) find(want.what.at)->sent.erase(want.what.step);  // it has no file any more, say
    const auto held = from->sent.find(want.what.step);
    if (held == from->sent.end() || held->second.first != want.what.attempt) return put(*p, not_pulled{want.task, want.what, true});
    p->inbox[{want.task.step, want.task.attempt}][name(want.what)] = held->second.second.at(want.what.bucket);
    put(*p, pulled{want.task, want.what});
  }

  void work_now(process& p, const task& t) {
    const op& o = *ops_of_[t.vertex];
    const std::uint32_t here = p.id.partition;
    const bool computes = t.does == work::run || t.does == work::send || t.does == work::fold;
    if (computes && t.vertex == plan_.fails_vertex &&
        std::find(plan_.fails_in.begin(), plan_.fails_in.end(), here) != plan_.fails_in.end()) {
      to_master(p.id, task_failed{t.id, p.id});
      return put(p, worked{t.id, false});
    }
    task_result r;
    const auto read = [&] {
      std::vector<const rows*> all;
      for (const std::uint64_t v : o.reads) {
        const auto table = p.tables.find(v);
        if (table == p.tables.end()) wrong_ = "a task reads what is not there" + where();
        else all.push_back(&table->second);
      }
      return all;
    };
    switch (t.does) {
      case work::run: p.tables[t.vertex] = o.reads.empty() ? source_rows(t.vertex, here) : computed(t.vertex, read()); break;
      case work::fold: {
        const std::uint64_t s = sum(computed(t.vertex, read()));
        r.answer.resize(sizeof s);
        std::memcpy(r.answer.data(), &s, sizeof s);
        break;
      }
      case work::send: {
        const rows all = o.from_leader ? of_leader(t.vertex, taken_[o.reads[0]]) : computed(t.vertex, read());
        std::vector<rows> apart = buckets(o.moves, all, plan_.partitions);
        for (const rows& b : apart) r.blocks.push_back({b.size(), b.size() * 8, sum(b)});
        if (!t.only.empty() && apart.size() > 1)
          for (std::uint32_t b = 0; b < apart.size(); ++b)
            if (std::find(t.only.begin(), t.only.end(), b) == t.only.end()) apart[b].assign(1, 666), r.blocks[b] = {};
        p.sent[t.id.step] = {t.id.attempt, std::move(apart)};
        break;
      }
      case work::receive: {
        rows all;
        auto& inbox = p.inbox[{t.id.step, t.id.attempt}];
        for (const block& b : t.blocks) {
          if (!inbox.contains(name(b))) wrong_ = "a task begins without a block" + where();
          if (sum(inbox[name(b)]) != b.size.checksum) wrong_ = "a block is another than the master said" + where();
          all.insert(all.end(), inbox[name(b)].begin(), inbox[name(b)].end());
          inbox.erase(name(b));
        }
        p.tables[t.vertex] = std::move(all);
        break;
      }
      default: break;
    }
    to_master(p.id, task_done{t.id, p.id, std::move(r)});
    put(p, worked{t.id, true});
  }

  // ------------------------------------------------------------ the leader
  std::uint32_t all() const { return plan_.partitions; }
  bool done(step_id s) const { return lockstep_ ? master_.done(s) : master_.done(s, 0); }
  void lead() {
    for (;;) {
      if (over_) return;
      if (const auto& f = master_.failed()) return fail(*f);
      if (waits_for_ && !(waits_for_all_ ? master_.done(waits_for_) : done(waits_for_))) return;
      waits_for_ = 0;
      if (at_ == plan_.ops.size()) {
        for (const auto& [v, steps] : steps_)
          for (const step_id s : steps)
            if (!master_.done(s)) return wait(s, true);
        over_ = true;
        return;
      }
      if (!one()) return;
    }
  }
  void wait(step_id s, bool for_all) {
    waits_for_ = s;
    waits_for_all_ = for_all;
  }
  step_id submit(step s) {
    master_actions actions;
    const step_id id = master_.submit(std::move(s), actions);
    steps_[actions_vertex_].push_back(id);
    act(actions);
    return id;
  }
  // False: it waits.
  bool one() {
    const op& o = plan_.ops[at_];
    ops_of_[o.vertex] = o.what == op::kind::take ? ops_of_[o.vertex] : &o;
    actions_vertex_ = o.vertex;
    std::vector<step_id> reads;
    if (o.what != op::kind::release && !o.from_leader)
      for (const std::uint64_t v : o.reads) reads.push_back(steps_.at(v).back());
    switch (o.what) {
      case op::kind::run: wait(submit({o.vertex, work::run, all(), reads}), false); break;
      case op::kind::exchange: {
        const step_id sends = submit({o.vertex, work::send, o.from_leader ? 1 : all(), reads});
        wait(submit({o.vertex, work::receive, o.moves == op::way::gather ? 1 : all(), {}, sends}), false);
        break;
      }
      case op::kind::take: taken_[o.vertex] = sum(find({0, 1})->tables.at(o.vertex)); break;
      case op::kind::fold:
        if (!folding_) return wait(folding_ = submit({o.vertex, work::fold, all(), reads}), true), true;
        for (std::uint32_t p = 0; p < all(); ++p) {
          std::uint64_t s = 0;
          std::memcpy(&s, master_.result(folding_, p).answer.data(), sizeof s);
          answer_ = answer_ * 31 + s;
        }
        break;
      case op::kind::release: {
        std::vector<step_id> gone;
        for (const std::uint64_t v : o.reads)
          for (const step_id s : steps_[v]) {
            if (!master_.done(s)) return wait(s, true), true;
            gone.push_back(s);
          }
        for (const std::uint64_t v : o.reads) steps_.erase(v);
        master_actions actions;
        master_.release(gone, actions);
        act(actions);
        break;
      }
    }
    ++at_;
    return true;
  }

  // ------------------------------------------------------------ what has to be
  struct result {
    std::uint64_t answer = 0;
    std::optional<std::pair<std::uint64_t, std::uint32_t>> fails;  // vertex, partition
  };
  result reference() const {
    result r;
    std::map<std::uint64_t, std::vector<rows>> tables;
    std::map<std::uint64_t, std::uint64_t> taken;
    for (const op& o : plan_.ops) {
      const std::uint32_t senders = o.from_leader ? 1 : plan_.partitions;
      if (o.vertex == plan_.fails_vertex && o.what != op::kind::take && o.what != op::kind::release)
        for (const std::uint32_t p : plan_.fails_in)
          if (p < senders) {
            r.fails = {o.vertex, p};
            return r;
          }
      const auto read = [&](std::uint32_t p) {
        std::vector<const rows*> all;
        for (const std::uint64_t v : o.reads) all.push_back(&tables.at(v).at(p));
        return all;
      };
      switch (o.what) {
        case op::kind::run:
          tables[o.vertex].assign(plan_.partitions, {});
          for (std::uint32_t p = 0; p < plan_.partitions; ++p)
            tables[o.vertex][p] = o.reads.empty() ? source_rows(o.vertex, p) : computed(o.vertex, read(p));
          break;
        case op::kind::exchange: {
          std::vector<rows> received(plan_.partitions);
          for (std::uint32_t p = 0; p < senders; ++p) {
            const auto apart = buckets(o.moves, o.from_leader ? of_leader(o.vertex, taken.at(o.reads[0])) : computed(o.vertex, read(p)),
                                       plan_.partitions);
            for (std::uint32_t q = 0; q < plan_.partitions; ++q) {
              const rows& b = apart[apart.size() == 1 ? 0 : q];
              received[q].insert(received[q].end(), b.begin(), b.end());
            }
          }
          tables[o.vertex] = std::move(received);
          break;
        }
        case op::kind::take: taken[o.vertex] = sum(tables.at(o.vertex)[0]); break;
        case op::kind::fold:
          for (std::uint32_t p = 0; p < plan_.partitions; ++p) r.answer = r.answer * 31 + sum(computed(o.vertex, read(p)));
          break;
        case op::kind::release: break;
      }
    }
    return r;
  }
  void fail(const master::failure& f) {
    over_ = true;
    ++out_.failures;
    failed_ = true;
    const bool too_often = most_lost_ > most_losses_ || (!replayable_ && most_lost_);
    if (!f.task && too_often) return;
    if (!expected_.fails) wrong_ = "it failed: " + f.why + where();
    else if (!f.task) wrong_ = "it failed for another reason: " + f.why;
    else if (f.task->partition != expected_.fails->second) wrong_ = "another partition's error";
    else if (const auto s = steps_.find(expected_.fails->first); s == steps_.end() || s->second.front() != f.task->step)
      wrong_ = "another step's error";
  }
  void check_end() {
    if (failed_) return;
    if (expected_.fails) wrong_ = "it should have failed";
    else if (answer_ != expected_.answer) wrong_ = "another answer";
    if (!wrong_.empty()) return;
    if (most_lost_ > most_losses_ || (!replayable_ && most_lost_)) wrong_ = "it goes on after too many losses";
    kills_left_ = 0;
    drain();
    if (master_.failed()) return;  // by a loss too many, after the end
    for (const process& p : processes_)
      if (p.alive && p.id.incarnation == incarnations_[p.id.partition] && !p.sent.empty()) wrong_ = "blocks are left that all have";
    // All that is left goes.
    std::vector<step_id> rest;
    for (const auto& [v, steps] : steps_) rest.insert(rest.end(), steps.begin(), steps.end());
    master_actions actions;
    master_.release(rest, actions);
    act(actions);
    drain();
    for (const process& p : processes_) {
      if (!p.alive || p.id.incarnation != incarnations_[p.id.partition]) continue;
      if (!p.queue.holds_nothing() || !p.tables.empty() || !p.sent.empty())
        wrong_ = "rows are left in process " + std::to_string(p.id.partition);
      for (const auto& [task, blocks] : p.inbox)
        if (!blocks.empty()) wrong_ = "blocks are left in process " + std::to_string(p.id.partition);
    }
    if (!master_.holds_nothing()) wrong_ = "steps are left with the master";
  }

  void drain() {
    for (int i = 0; i < 100'000 && !events_.empty(); ++i) {
      const event e = events_.top();
      events_.pop();
      now_ = e.at;
      e.what();
    }
  }

  const options options_;
  std::mt19937_64 random_;
  const plan plan_;
  std::uint32_t local_ = 1;
  bool lockstep_ = false;
  std::uint64_t kills_left_ = 0;
  std::uint32_t most_losses_ = 1000, most_lost_ = 0;
  bool replayable_ = true;
  std::map<std::uint32_t, std::uint32_t> losses_;
  std::set<std::uint64_t> known_lost_;
  master master_;
  result expected_;
  std::uint64_t now_ = 0, numbers_ = 0;
  std::priority_queue<event> events_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> channels_;
  std::deque<process> processes_;
  std::map<std::uint32_t, std::uint32_t> incarnations_{{0, 1}};
  struct by_name {
    bool operator()(const host_id& a, const host_id& b) const { return name(a) < name(b); }
  };
  std::map<host_id, std::int64_t, by_name> pulls_;

  std::size_t at_ = 0;
  step_id waits_for_ = 0, folding_ = 0;
  bool waits_for_all_ = false, over_ = false, failed_ = false;
  std::uint64_t actions_vertex_ = 0, answer_ = 0;
  std::map<std::uint64_t, std::vector<step_id>> steps_;
  std::map<std::uint64_t, const op*> ops_of_;
  std::map<std::uint64_t, std::uint64_t> taken_;
  std::string wrong_;
  outcome out_;
};

}  // namespace

outcome simulate(const options& o) { return world(o).run(); }

}  // namespace query::tests::simulated
