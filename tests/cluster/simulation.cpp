#include "simulation.hpp"

#include <algorithm>
#include <deque>
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
    return out_;
  }

 private:
  struct event {
    std::uint64_t at = 0, number = 0;
    std::function<void()> what;
    bool operator<(const event& e) const { return std::pair(at, number) > std::pair(e.at, e.number); }
  };

  master::options options_of() {
    nested_ = below(2) != 0;
    local_ = below(4) == 0 ? plan_.partitions : 1;
    lockstep_ = below(3) == 0;
    kills_left_ = options_.faults && local_ == 1 ? below(6) : 0;
    most_losses_ = below(5) == 0 ? 1 : 1000;
    replayable_ = below(12) != 0;
    return {.partitions = plan_.partitions, .others_from = local_, .most_losses = most_losses_, .most_waited = 1000,
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
  using place = std::pair<step_id, std::uint32_t>;
  static place place_of(const task_id& t) { return {t.step, t.partition}; }
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
      if (const auto* const run = std::get_if<run_task>(&a)) asked_[place_of(run->task.id)] = {run->task.id.attempt, run->host};
      std::visit([&](const auto& which) {
        if constexpr (requires { which.host; }) to_process(which.host, event_of(which));
      }, a);
    }
  }
  static queue_event event_of(const run_task& a) { return a.task; }
  static queue_event event_of(const redirect& a) { return other_block{a.task, a.instead}; }
  static queue_event event_of(const drop& a) { return no_longer_read{a.step}; }
  static queue_event event_of(const start_host&) { return {}; }
  // What the leader says to its own partitions, and they to it, is said within what it was doing.
  bool is_nested(const host_id& id) const { return nested_ && id.partition < local_; }
  void to_process(host_id id, queue_event e) {
    if (is_nested(id)) return put(*find(id), e);
    send(0, name(id), [this, id, e] {
      process* const p = find(id);
      if (p && p->alive) put(*p, e);
    });
  }
  void to_master(const host_id& from, const master_event& e) {
    if (is_nested(from)) return tell(e);
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
      if (nested_ && (want.what.at == id || (is_nested(id) && is_nested(want.what.at)))) return pulled_now(id, want);
      later(below(want.what.at == id ? 2 : 50), [this, id, want] { pulled_now(id, want); });
    } else if (const auto* const d = std::get_if<discard>(&a)) {
      p.inbox[{d->task.step, d->task.attempt}].erase(name(d->what));
    } else if (const auto* const m = std::get_if<say_missing>(&a)) {
      to_master(id, block_missing{m->task, id, m->what, m->gone, m->milliseconds});
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
    if (plan_.pulls_fail && one_in(100)) return pull_fails(*p, want);
    if (!from || !from->alive || one_in(40)) return put(*p, not_pulled{want.task, want.what, false, 1});
    if (one_in(80)) find(want.what.at)->sent.erase(want.what.step);  // it has no file any more, say
    const auto held = from->sent.find(want.what.step);
    if (held == from->sent.end() || held->second.first != want.what.attempt) return put(*p, not_pulled{want.task, want.what, true});
    p->inbox[{want.task.step, want.task.attempt}][name(want.what)] = held->second.second.at(want.what.bucket);
    put(*p, pulled{want.task, want.what});
  }

  bool is_pending(const task_id& t) const {
    const auto has = [&](const auto& known) { return std::find(known.second.begin(), known.second.end(), t.step) != known.second.end(); };
    return std::any_of(steps_.begin(), steps_.end(), has) && !master_.done(t.step, t.partition);
  }
  // An error ends the query if its task is still wanted then.
  void pull_fails(process& p, const pull& want) {
    const host_id id = p.id;
    send(name(id), 0, [this, id, t = want.task] {
      const bool wanted = asked_[place_of(t)] == std::pair(t.attempt, id) && !known_lost_.contains(name(id)) && is_pending(t) &&
                          !plan_.differs_vertex;
      pulls_failed_.insert(place_of(t));
      pull_error_ |= wanted;
      tell(task_failed{t, id});
    });
    put(p, not_pulled{want.task, want.what, false, 1});
  }

  void work_now(process& p, const task& t) {
    const op& o = *ops_of_[t.vertex];
    const std::uint32_t here = p.id.partition;
    const bool computes = t.does != work::receive;
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
    const auto made = [&] {
      rows all = o.from_leader ? of_leader(t.vertex, taken_[o.reads[0]])
                 : o.reads.empty() ? source_rows(t.vertex, here) : computed(t.vertex, read());
      if (t.vertex != plan_.differs_vertex || t.id.attempt == 1) return all;
      differed_ = true;
      return differing(std::move(all), t.id.attempt);
    };
    switch (t.does) {
      case work::run: p.tables[t.vertex] = made(); break;
      case work::count: r.rows = made().size(); break;
      case work::sample: {
        rows all = made();
        all.resize(std::min<std::size_t>(all.size(), rows_of(t.argument).at(0)));
        r.answer = bytes_of(all);
        break;
      }
      case work::fold: {
        r.answer = bytes_of({sum(computed(t.vertex, read()))});
        break;
      }
      case work::send: {
        std::vector<rows> apart = buckets(o.moves, made(), plan_.partitions, rows_of(t.argument));
        for (const rows& b : apart) r.blocks.push_back({b.size(), b.size() * 8, sum(b)});
        if (!t.only.empty() && apart.size() > 1)
          for (std::uint32_t b = 0; b < apart.size(); ++b)
            if (std::find(t.only.begin(), t.only.end(), b) == t.only.end()) apart[b].assign(1, 666);
        p.sent[t.id.step] = {t.id.attempt, std::move(apart)};
        break;
      }
      case work::receive: {
        rows all;
        if (auto& read = read_[place_of(t.id)]; read.first <= t.id.attempt) read = {t.id.attempt, t.blocks};
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
        std::vector<std::vector<std::byte>> arguments;
        if (o.moves == op::way::range) {
          if (!counting_) return wait(counting_ = submit({o.vertex, work::count, all(), reads}), true), true;
          if (!sampling_) return wait(sampling_ = submit({o.vertex, work::sample, all(), reads, 0, shares()}), true), true;
          arguments.push_back(begins());
          counting_ = sampling_ = 0;
        }
        const step_id sends = submit({o.vertex, work::send, o.from_leader ? 1 : all(), reads, 0, std::move(arguments)});
        wait(submit({o.vertex, work::receive, o.moves == op::way::gather ? 1 : all(), {}, sends}), false);
        break;
      }
      case op::kind::take: taken_[o.vertex] = sum(find({0, 1})->tables.at(o.vertex)); break;
      case op::kind::fold:
        if (!folding_) return wait(folding_ = submit({o.vertex, work::fold, all(), reads}), true), true;
        for (std::uint32_t p = 0; p < all(); ++p) answer_ = answer_ * 31 + rows_of(master_.result(folding_, p).answer).at(0);
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

  std::vector<std::vector<std::byte>> shares() const {
    std::vector<std::vector<std::byte>> of_each;
    for (std::uint32_t p = 0; p < all(); ++p) of_each.push_back(bytes_of({share_of(master_.result(counting_, p).rows)}));
    return of_each;
  }
  std::vector<std::byte> begins() const {
    std::vector<rows> samples;
    for (std::uint32_t p = 0; p < all(); ++p) samples.push_back(rows_of(master_.result(sampling_, p).answer));
    return bytes_of(begins_of_ranges(std::move(samples), all()));
  }

  // ------------------------------------------------------------ what has to be
  void fail(const master::failure& f) {
    over_ = true;
    ++out_.failures;
    failed_ = true;
    const bool too_often = most_lost_ > most_losses_ || (!replayable_ && most_lost_);
    if (!f.task && too_often) return;
    if (f.task ? pulls_failed_.contains(place_of(*f.task)) : differed_ && f.why.starts_with("rows that were ")) return;
    if (!expected_.fails) wrong_ = "it failed: " + f.why + where();
    else if (!f.task) wrong_ = "it failed for another reason: " + f.why;
    else if (f.task->partition != expected_.fails->second) wrong_ = "another partition's error";
    else if (const auto s = steps_.find(expected_.fails->first); s == steps_.end() || s->second.front() != f.task->step)
      wrong_ = "another step's error";
  }
  void check_end() {
    if (failed_) return;
    if (expected_.fails) wrong_ = "it should have failed";
    else if (pull_error_) wrong_ = "an error of a pull is not told";
    else if (answer_ != expected_.answer && !differed_) wrong_ = "another answer";
    check_read();
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

  // Whatever ran again: receivers have what their senders say now.
  void check_read() {
    for (const auto& [at, read] : read_)
      for (const block& b : read.second)
        for (const auto& [v, steps] : steps_)
          if (std::find(steps.begin(), steps.end(), b.step) != steps.end() &&
              master_.result(b.step, b.at.partition).blocks.at(b.bucket).checksum != b.size.checksum)
            wrong_ = "rows are of another attempt than their sender's last";
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
  bool lockstep_ = false, nested_ = false;
  std::uint64_t kills_left_ = 0;
  std::uint32_t most_losses_ = 1000, most_lost_ = 0;
  bool replayable_ = true;
  std::map<std::uint32_t, std::uint32_t> losses_;
  std::set<std::uint64_t> known_lost_;
  master master_;
  expectation expected_;
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
  step_id waits_for_ = 0, folding_ = 0, counting_ = 0, sampling_ = 0;
  bool waits_for_all_ = false, over_ = false, failed_ = false, differed_ = false, pull_error_ = false;
  std::uint64_t actions_vertex_ = 0, answer_ = 0;
  std::map<std::uint64_t, std::vector<step_id>> steps_;
  std::map<std::uint64_t, const op*> ops_of_;
  std::map<std::uint64_t, std::uint64_t> taken_;
  std::map<place, std::pair<std::uint32_t, host_id>> asked_;                // of each task: its last attempt
  std::map<place, std::pair<std::uint32_t, std::vector<block>>> read_;      // of each receiver: by its last attempt
  std::set<place> pulls_failed_;
  std::string wrong_;
  outcome out_;
};

}  // namespace

outcome simulate(const options& o) { return world(o).run(); }

}  // namespace query::tests::simulated
