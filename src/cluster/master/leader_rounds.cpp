// Loops whose variable lies in partitions. The steps of a round are no lineage: what the earlier rounds left is given up as they end. A
// loss gives up all of them, and the loop goes on behind the last round that was saved, or with its first rows if none was.
//
// Saving a round sends its variable to this process, as blocks of which each partition gets its own back: rows lie after a loss as they did
// before, and sums of fractions come out the same. It happens while the next rounds run, as often as the rounds since the last time have
// taken a multiple of what it costs (docs/design/035).
#include <algorithm>
#include <utility>

#include "cluster/bytes.hpp"
#include "cluster/master/leader.hpp"

namespace query::cluster {

using planner::vertex;
using clock = std::chrono::steady_clock;

step_id leader::variable_step(const vertex& loop, work does, std::vector<step_id> reads, step_id receives,
                              std::optional<variable_from> from) {
  std::sort(reads.begin(), reads.end());
  reads.erase(std::unique(reads.begin(), reads.end()), reads.end());
  const bool in_one = does == work::hold;
  step s{number_of_variable(numbers_.at(&loop), rounds_made_, *all_[0].graph), does,
         static_cast<std::uint32_t>(in_one ? 1 : loop.variable_partitions), std::move(reads), receives, {}, true};
  if (from) {
    byte_writer w;
    w.put(*from);
    s.arguments = {w.take()};
  }
  waits_for_ = &loop;
  return submit(std::move(s));
}

void leader::first_rows(const vertex& loop) {
  std::vector<step_id> reads;
  for (const planner::branch& b : loop.inputs) add_reads(reads, b);
  for (const planner::binding& b : loop.captures) add_reads(reads, b.table);
  ++rounds_made_;
  now_ = variable_step(loop, work::run, std::move(reads), 0, variable_from::first_rows);
}

void leader::begin_loop(const vertex& v) {
  begin();
  loop_ = &v;
  saving_ = saved_ = {};
  after_saving_.clear();
  previous_ = 0;
  round_ = 0;
  last_saved_ = clock::now();
  cost_of_saving_ = {};
  first_rows(v);
}

void leader::next_round(const vertex& v) {
  std::vector<step_id> reads;
  add_reads(reads, v.body_result);
  for (const planner::binding& b : v.captures) add_reads(reads, b.table);
  reads.push_back(now_);
  ++rounds_made_;
  previous_ = std::exchange(now_, variable_step(v, work::run, std::move(reads), 0, variable_from::body));
  wait(now_);  // what the body made is given up then, and the next round makes it anew
  ++round_;
}

void leader::forget_previous() {
  wait(previous_);
  if (saving_.of == previous_) after_saving_.push_back(previous_);
  else release({previous_});
  see_saved();
}

// The rounds that it takes the place of are wanted no more.
void leader::see_saved() {
  if (!saving_.holds || !master_->done(saving_.holds)) return;
  std::vector<step_id> gone = std::exchange(after_saving_, {});
  gone.push_back(saving_.sends);
  if (saved_.holds) gone.push_back(saved_.holds);
  saved_ = std::exchange(saving_, {});
  last_saved_ = clock::now();
  cost_of_saving_ = last_saved_ - saved_.begun;
  ++session_->saved_rounds;
  release(gone);
}

void leader::save(std::uint64_t round) {
  see_saved();
  if (!sent_ || saving_.holds) return;
  if (const double interval = session_->interval_of_saving; interval > 0) {
    // The first time, a guess.
    constexpr double bytes_a_second = 0.5e9;
    constexpr std::uint64_t least_rounds = 2;
    double bytes = 0;
    for (std::uint32_t p = 0; p < parts(); ++p)
      bytes += static_cast<double>(master_->result(now_, p).rows) * static_cast<double>(loop_->row()->size);
    const std::chrono::duration<double> guess(bytes / bytes_a_second), cost(cost_of_saving_);
    const std::chrono::duration<double> since(clock::now() - last_saved_);
    if (round < saved_.round + least_rounds || since < interval * (cost.count() > 0 ? cost : guess)) return;
  }
  saving_ = {round, now_, 0, 0, clock::now()};
  saving_.sends = variable_step(*loop_, work::send, {now_}, 0);
  saving_.holds = variable_step(*loop_, work::hold, {}, saving_.sends);
}

// The master has given up all steps of the rounds.
std::uint64_t leader::restart(const vertex& v) {
  if (saving_.holds && master_->knows(saving_.holds)) {  // it was held when the process was lost
    if (saved_.holds) release({saved_.holds});
    saved_ = saving_;
  }
  saving_ = {};
  after_saving_.clear();
  for (auto& [of, steps] : steps_) std::erase_if(steps, [&](step_id s) { return !master_->knows(s); });
  std::erase_if(steps_, [](const auto& known) { return known.second.empty(); });
  std::erase_if(vertices_, [&](const auto& known) { return !master_->knows(known.first); });
  loop_ = &v;
  previous_ = 0;
  rounds_again_ += round_ - std::min(round_, saved_.round) + 1;
  round_ = saved_.round;
  last_saved_ = clock::now();
  if (saved_.holds) {
    ++rounds_made_;
    now_ = variable_step(v, work::receive, {}, saved_.holds);
  } else {
    first_rows(v);
  }
  return saved_.round;
}

runtime::vertex_rows leader::end_loop(const vertex& v) {
  const step_id sends = variable_step(v, work::send, {now_}, 0);
  waits_for_ = &v;
  wait_here(submit(&v, work::receive, 1, sends));
  runtime::run_context& first = *all_[0].context;
  runtime::vertex_rows rows = std::move(first.tables.at(&v));
  first.tables.erase(&v);
  steps_.erase(&v);
  master_actions actions;
  master_->give_up_rounds(actions);
  loop_ = nullptr;
  act(actions);
  for (auto& [of, steps] : steps_) std::erase_if(steps, [&](step_id s) { return !master_->knows(s); });
  std::erase_if(steps_, [](const auto& known) { return known.second.empty(); });
  saving_ = saved_ = {};
  return rows;
}

}  // namespace query::cluster
