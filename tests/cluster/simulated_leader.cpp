// The leader of a simulated query: what cluster/master/leader does for a real one; and what has to be at the end.
#include "simulated_world.hpp"

namespace query::tests::simulated {

// ------------------------------------------------------------ the leader
void world::lead() {
  for (;;) {
    if (over_) return;
    if (const auto& f = master_.failed()) return fail(*f);
    if (master_.take_rounds_lost()) restart();
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

void world::wait(step_id s, bool for_all) {
  waits_for_ = s;
  waits_for_all_ = for_all;
}

step_id world::submit(step s) {
  s.of_round = loop_ != 0;
  master_actions actions;
  master_.set_time(now_);
  const step_id id = master_.submit(std::move(s), actions);
  steps_[actions_vertex_].push_back(id);
  act(actions);
  return id;
}

// False: it waits.
bool world::one() {
  const op& o = plan_.ops[at_];
  ops_of_[o.vertex] = o.what == op::kind::take ? ops_of_[o.vertex] : &o;
  actions_vertex_ = o.vertex;
  std::vector<step_id> reads;
  if (o.what != op::kind::release && !o.from_leader)
    for (const std::uint64_t v : o.reads) reads.push_back(plan_.variables.contains(v) ? variable_ : steps_.at(v).back());
  switch (o.what) {
    case op::kind::run: wait(submit({o.vertex, work::run, all(), reads}), false); break;
    case op::kind::exchange: {
      std::vector<std::vector<std::byte>> arguments;
      if (o.moves == op::way::range) {
        if (!counting_) return wait(counting_ = submit({o.vertex, work::count, all(), reads}), true), true;
        if (!sampling_) return wait(sampling_ = submit({o.vertex, work::sample, all(), reads, 0, shares()}), true), true;
        arguments.push_back(begins());
        counting_ = sampling_ = 0;
      } else if (o.moves == op::way::spread) {
        if (!counting_) return wait(counting_ = submit({o.vertex, work::count, all(), reads}), true), true;
        arguments = places();
        counting_ = 0;
      }
      const step_id sends = submit({o.vertex, work::send, o.from_leader ? 1 : all(), reads, 0, std::move(arguments)});
      wait(submit({o.vertex, work::receive, o.moves == op::way::gather ? 1 : all(), {}, sends}), false);
      break;
    }
    case op::kind::hand_on:
      if (!hand_on(o, reads)) return true;
      break;
    case op::kind::write:
      if (!writing_) return wait(writing_ = submit({o.vertex, work::write, all(), reads}), true), true;
      commit(o);
      break;
    case op::kind::begin_loop:
      loop_ = o.vertex;
      began_ = at_;
      saving_ = saved_ = {};
      after_saving_.clear();
      variable_ = of_variable(work::run, reads);
      break;
    case op::kind::next_round:
      previous_ = variable_;
      reads.push_back(variable_);
      wait(variable_ = of_variable(work::run, reads), true);  // what the body made is given up then
      break;
    case op::kind::forget_previous:
      if (!master_.done(previous_)) return wait(previous_, true), true;
      if (saving_.of == previous_) after_saving_.push_back(previous_);
      else release({previous_});
      see_saved();
      break;
    case op::kind::save:
      see_saved();
      if (saving_.holds) break;
      saving_ = {at_ + 1, variable_, of_variable(work::send, {variable_}), 0};
      held_.insert(saving_.holds = of_variable(work::hold, {}, saving_.sends));
      break;
    case op::kind::end_loop:
      if (!ending_) {
        const step_id sends = of_variable(work::send, {variable_});
        actions_vertex_ = o.vertex;
        return wait(ending_ = submit({o.vertex, work::receive, 1, {}, sends}), false), true;
      }
      answer_ = answer_ * 31 + sum(find({0, 1})->tables.at(o.vertex));
      ending_ = loop_ = 0;
      {
        master_actions actions;
        master_.give_up_rounds(actions);
        act(actions);
        forget_given_up();
      }
      break;
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
      release(gone);
      break;
    }
  }
  ++at_;
  return true;
}

void world::release(const std::vector<step_id>& gone) {
  master_actions actions;
  master_.release(gone, actions);
  act(actions);
}

// ------------------------------------------------------------ rows that are handed on in order, and files of partitions
bool world::ask_for_next() {
  handing& h = handing_;
  if (h.coming) return true;
  if (h.bucket && h.bucket >= master_.result(h.sends, h.sender).blocks.size()) {
    ++h.sender;
    h.bucket = 0;
  }
  if (h.sender == all()) return false;
  step s{actions_vertex_, work::receive, 1, {}, h.sends};
  s.only = step::piece{h.sender, h.bucket++};
  h.coming = submit(std::move(s));
  return true;
}

// False: it goes on later.
bool world::hand_on(const op& o, const std::vector<step_id>& reads) {
  handing& h = handing_;
  const auto gone = [&](step_id s) {
    std::erase(steps_[o.vertex], s);
    release({s});
  };
  if (!h.sends) {
    step s{o.vertex, work::send, all(), reads};
    s.in_pieces = true;
    h.sends = submit(std::move(s));
  }
  if (h.coming && master_.done(h.coming)) {
    h.given = std::exchange(h.coming, 0);
    const rows& now = find({0, 1})->tables.at(o.vertex);
    h.all.insert(h.all.end(), now.begin(), now.end());
    ask_for_next();
    gone(std::exchange(h.given, 0));
  }
  if (ask_for_next()) {
    wait(h.coming, true);
    return false;
  }
  answer_ = answer_ * 31 + sum(h.all);
  for (const auto& [at, read] : read_)
    for (const block& b : read.second)
      if (b.step == h.sends && master_.result(b.step, b.at.partition).blocks.at(b.bucket).checksum != b.size.checksum)
        wrong_ = "rows that were handed on are not their partition's any more";
  gone(h.sends);
  handing_ = {};
  return true;
}

// A file is half written for a while, and stays so if its process ends. Opening a file empties it.
void world::write_now(host_id id, const task& t, rows all) {
  const std::string to = written_name("", t.id);
  file& named = files_[to];
  if (!named) named = std::make_shared<rows>();
  named->assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
  later(below((find(id)->slow > 1 ? 40 : 60) * find(id)->slow), [this, id, t, to, opened = named, all = std::move(all)] {
    process* const p = find(id);
    if (!p || !p->alive) return;
    *opened = all;
    task_result r;
    r.answer.assign(reinterpret_cast<const std::byte*>(to.data()), reinterpret_cast<const std::byte*>(to.data() + to.size()));
    to_master(id, task_done{t.id, id, std::move(r)});
    put(*find(id), worked{t.id, true});
  });
}

// All files that the tasks named are renamed at once. What a lost process still writes is not among them.
void world::commit(const op& o) {
  rows whole;
  for (std::uint32_t p = 0; p < all(); ++p) {
    const auto& answer = master_.result(writing_, p).answer;
    const auto named = files_.extract(std::string(reinterpret_cast<const char*>(answer.data()), answer.size()));
    if (named.empty()) {
      wrong_ = "a file that was written is not there";
      return;
    }
    const rows& now = *named.mapped();
    committed_[o.vertex].emplace_back(named.mapped(), now);
    whole.insert(whole.end(), now.begin(), now.end());
  }
  answer_ = answer_ * 31 + sum(whole);
  writing_ = 0;
}

// ------------------------------------------------------------ loops whose variable lies in partitions
step_id world::of_variable(work does, std::vector<step_id> reads, step_id receives) {
  std::sort(reads.begin(), reads.end());
  reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
  actions_vertex_ = loop_ + ++rounds_made_ * variable_numbers;
  ops_of_[actions_vertex_] = &plan_.ops[at_];
  return submit({actions_vertex_, does, does == work::hold ? 1 : all(), std::move(reads), receives});
}

void world::see_saved() {
  if (!saving_.holds || !master_.done(saving_.holds)) return;
  std::vector<step_id> gone = std::exchange(after_saving_, {});
  gone.push_back(saving_.sends);
  if (saved_.holds) gone.push_back(saved_.holds);
  saved_ = std::exchange(saving_, {});
  for (const step_id s : gone) std::erase_if(steps_, [&](const auto& known) { return known.second.front() == s; });
  release(gone);
}

void world::forget_given_up() {
  for (auto& [v, steps] : steps_) std::erase_if(steps, [&](step_id s) { return !master_.knows(s); });
  std::erase_if(steps_, [](const auto& known) { return known.second.empty(); });
  // A round that is given up takes its errors with it: run again, it may succeed.
  std::erase_if(errors_of_pulls_, [&](step_id s) { return !master_.knows(s); });
}

void world::restart() {
  if (saving_.holds && master_.knows(saving_.holds)) {
    if (saved_.holds) release({saved_.holds});
    saved_ = saving_;
  }
  saving_ = {};
  after_saving_.clear();
  waits_for_ = folding_ = counting_ = sampling_ = ending_ = 0;
  forget_given_up();
  ++out_.restarts;
  at_ = saved_.holds ? saved_.at : began_;
  if (saved_.holds) variable_ = of_variable(work::receive, {}, saved_.holds);
}

std::vector<std::vector<std::byte>> world::shares() const {
  std::vector<std::vector<std::byte>> of_each;
  for (std::uint32_t p = 0; p < all(); ++p) of_each.push_back(bytes_of({share_of(master_.result(counting_, p).rows)}));
  return of_each;
}

// How many rows the senders before each have, and all.
std::vector<std::vector<std::byte>> world::places() const {
  std::vector<std::vector<std::byte>> of_each;
  std::uint64_t rows = 0, before = 0;
  for (std::uint32_t p = 0; p < all(); ++p) rows += master_.result(counting_, p).rows;
  for (std::uint32_t p = 0; p < all(); ++p) {
    of_each.push_back(bytes_of({before, rows}));
    before += master_.result(counting_, p).rows;
  }
  return of_each;
}

std::vector<std::byte> world::begins() const {
  std::vector<rows> samples;
  for (std::uint32_t p = 0; p < all(); ++p) samples.push_back(rows_of(master_.result(sampling_, p).answer));
  return bytes_of(begins_of_ranges(std::move(samples), all()));
}

// ------------------------------------------------------------ what has to be
void world::fail(const master::failure& f) {
  over_ = true;
  ++out_.failures;
  failed_ = true;
  const bool too_often = most_lost_ > most_losses_ || (!replayable_ && most_lost_);
  if (!f.task && too_often) return;
  if (f.task ? pulls_failed_.contains(place_of(*f.task)) : differed_ && repeated_ && f.why.starts_with("rows that were ")) return;
  if (!expected_.fails) wrong_ = "it failed: " + f.why + where();
  else if (!f.task) wrong_ = "it failed for another reason: " + f.why;
  else if (f.task->partition != expected_.fails->second) wrong_ = "another partition's error";
  else if (std::none_of(steps_.begin(), steps_.end(), [&](const auto& s) {
             return s.first % variable_numbers == expected_.fails->first && s.second.front() == f.task->step;
           }))
    wrong_ = "another step's error";
}

void world::check_end() {
  out_.ended_at = now_;
  if (failed_) return;
  if (expected_.fails) wrong_ = "it should have failed";
  else if (!errors_of_pulls_.empty()) wrong_ = "an error of a pull is not told";
  else if (answer_ != expected_.answer && !differed_) wrong_ = "another answer";
  check_read();
  if (!wrong_.empty()) return;
  if (most_lost_ > most_losses_ || (!replayable_ && most_lost_)) wrong_ = "it goes on after too many losses";
  kills_left_ = 0;
  drain();
  if (master_.failed()) return;  // by a loss too many, after the end
  for (const auto& [v, files] : committed_)
    for (const auto& [now, then] : files)
      if (*now != then) wrong_ = "a file is written to that was committed";
  for (const process& p : processes_)
    if (p.alive && !is_current(p.id) && !known_lost_.contains(name(p.id))) wrong_ = "a copy goes on, or the slow process";
  for (const process& p : processes_)
    if (p.alive && is_current(p.id) && !p.sent.empty()) wrong_ = "blocks are left that all have";
  // All that is left goes.
  std::vector<step_id> rest;
  for (const auto& [v, steps] : steps_) rest.insert(rest.end(), steps.begin(), steps.end());
  master_actions actions;
  master_.release(rest, actions);
  act(actions);
  drain();
  for (const process& p : processes_) {
    if (!p.alive || !is_current(p.id)) continue;
    if (!p.queue.holds_nothing() || !p.tables.empty() || !p.sent.empty() || !p.variables.empty())
      wrong_ = "rows are left in process " + std::to_string(p.id.partition);
    for (const auto& [task, blocks] : p.inbox)
      if (!blocks.empty()) wrong_ = "blocks are left in process " + std::to_string(p.id.partition);
  }
  if (!master_.holds_nothing()) wrong_ = "steps are left with the master";
}

// Whatever ran again: receivers have what their senders say now.
void world::check_read() {
  for (const auto& [at, read] : read_)
    for (const block& b : read.second)
      for (const auto& [v, steps] : steps_)
        if (std::find(steps.begin(), steps.end(), b.step) != steps.end() &&
            master_.result(b.step, b.at.partition).blocks.at(b.bucket).checksum != b.size.checksum)
          wrong_ = "rows are of another attempt than their sender's last";
}

void world::drain() {
  for (int i = 0; i < 100'000 && !events_.empty(); ++i) {
    const event e = events_.top();
    events_.pop();
    now_ = e.at;
    e.what();
  }
}

}  // namespace query::tests::simulated
