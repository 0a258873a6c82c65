// Copies of slow tasks. A task that takes much longer than those of its step that are done shows that its process is slow, or its host.
// The next incarnation of that process begins in another one that has nothing to do, and computes what the task needs, as after a loss.
// The slow process goes on meanwhile. The one that finishes the task first is the partition's host from then on, and the other ends. Until
// then nobody but the copy reads what the copy makes: there is one committed attempt of each task (docs/design/045).
//
// Source: Dean and Ghemawat, MapReduce, OSDI 2004, section 3.6 (backup tasks); Zaharia et al., Improving MapReduce Performance in
// Heterogeneous Environments, OSDI 2008.
#include <set>

#include "cluster/master/master.hpp"

namespace query::cluster {

namespace {

bool alike(const task_result& a, const task_result& b) {
  return std::equal(a.blocks.begin(), a.blocks.end(), b.blocks.begin(), b.blocks.end(),
                    [](const block_size& x, const block_size& y) { return x.alike(y); });
}

}  // namespace

// A process works on one task at a time, and begins with one that receives when all have sent.
std::uint64_t master::works_since(const known_step& k, std::uint32_t p) const {
  std::uint64_t since = std::max(k.tasks[p].asked, hosts_[p].last_done);
  if (const auto sending = steps_.find(k.what.receives); sending != steps_.end()) since = std::max(since, sending->second.last_done);
  return since;
}

bool master::is_slow(const known_step& k, std::uint32_t p) const {
  if (k.done * 2 < k.tasks.size()) return false;
  std::vector<std::uint64_t> took;
  for (const one& t : k.tasks)
    if (t.is == state::done) took.push_back(t.took);
  const auto median = took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2);
  std::nth_element(took.begin(), median, took.end());
  return now_ > works_since(k, p) + options_.slow_after + *median * 2;
}

// What the process has been asked for waits for blocks of others.
std::optional<std::uint32_t> master::idle_host(std::uint32_t other_than) const {
  for (std::uint32_t q = options_.others_from; q < hosts_.size(); ++q) {
    if (q == other_than || hosts_[q].now != host::is::ready) continue;
    const auto is_busy = [&](const auto& known) {
      const known_step& k = known.second;
      if (q >= k.tasks.size() || k.tasks[q].is != state::asked) return false;
      if (const auto sending = steps_.find(k.what.receives); sending != steps_.end() && sending->second.pending) return false;
      return std::none_of(k.what.reads.begin(), k.what.reads.end(), [&](step_id r) { return steps_.at(r).tasks[q].is == state::asked; });
    };
    if (std::none_of(steps_.begin(), steps_.end(), is_busy)) return q;
  }
  return std::nullopt;
}

// All that it needs can be computed again. The rows of a round cannot: those of the round before are gone.
bool master::can_be_copied(step_id s) const {
  std::vector<step_id> next{s};
  std::set<step_id> seen;
  while (!next.empty()) {
    const step_id of = next.back();
    next.pop_back();
    if (!seen.insert(of).second) continue;
    const auto found = steps_.find(of);
    if (found == steps_.end() || found->second.released || found->second.what.of_round) return false;
    const step& what = found->second.what;
    next.insert(next.end(), what.reads.begin(), what.reads.end());
    if (what.receives) next.push_back(what.receives);
  }
  return true;
}

void master::on(const look_for_slow&, master_actions& out) {
  if (!options_.slow_after || !options_.replayable || copy_ || failed_ || fails_at_) return;
  std::set<std::uint32_t> seen;  // partitions: the others of their tasks wait for the first one
  for (auto& [id, k] : steps_) {
    if (!k.pending) continue;
    for (std::uint32_t p = options_.others_from; p < k.tasks.size(); ++p) {
      if (k.tasks[p].is != state::asked || !seen.insert(p).second) continue;
      if (k.tasks[p].copied || !is_slow(k, p) || !can_be_copied(id)) continue;
      const auto idle = idle_host(p);
      if (!idle) continue;
      k.tasks[p].copied = true;
      ++repaired_.copied;
      copy_ = {{p, ++hosts_[p].made}, id};
      out.push_back(start_host{copy_->host, idle});
      set(k, copy_place(), state::waiting);
      return settle(out);
    }
  }
}

void master::copy_done(step_id s, master_actions& out) {
  known_step& k = steps_.at(s);
  const std::uint32_t p = copy_->host.partition;
  const task_result& known = k.tasks[p].result;
  if (!known.blocks.empty() && !alike(known, k.copy.result)) return end_copy(out);  // others may have the rows of the first attempt
  if (s == copy_->of) {
    ++repaired_.won;
    out.push_back(end_host{host_of(p)});
    return replace_host(p, out);
  }
  if (k.what.does == work::send) offer_blocks(s, copy_place(), out);
  for (const step_id r : k.what.reads) try_drop(r, out);
  if (k.what.receives) try_drop(k.what.receives, out);
}

// Rows that were sent once more come out another way. A copy for which they were, or which has sent others itself, is of no use. True:
// nobody else waits for them, as the copy may have ended before, and they are as they were.
bool master::stays_alone(step_id sending, std::uint32_t sender, const task_result& before, master_actions& out) {
  known_step& k = steps_.at(sending);
  one& t = k.tasks[sender];
  const bool as_before = before.blocks.empty() || alike(before, t.result);
  const bool beside = copy_ && sender == copy_->host.partition && k.copy.is == state::done && !alike(k.copy.result, t.result);
  if (copy_ && (!as_before || beside)) end_copy(out);
  if (as_before) return false;
  for (const step_id r : k.readers)
    if (const auto found = steps_.find(r); found != steps_.end() && found->second.pending) return false;
  t.result = before;
  out.push_back(drop{t.host, sending});
  set(k, sender, state::idle);
  try_drop(sending, out);
  return true;
}

void master::end_copy(master_actions& out) {
  out.push_back(end_host{copy_->host});
  for (auto& [id, k] : steps_) k.copy = {};
  copy_.reset();
  after_copy({}, 0, out);
}

// Others may now read what the copy has sent. Nobody reads what was meant for the copy alone.
void master::after_copy(const std::vector<step_id>& sent, std::uint32_t p, master_actions& out) {
  for (const step_id s : sent)
    if (const auto known = steps_.find(s); known != steps_.end() && known->second.tasks[p].is == state::done) offer_blocks(s, p, out);
  std::vector<step_id> all;
  for (const auto& [id, k] : steps_) all.push_back(id);
  for (const step_id s : all) try_drop(s, out);
}

}  // namespace query::cluster
