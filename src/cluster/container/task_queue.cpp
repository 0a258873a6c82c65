#include "cluster/container/task_queue.hpp"

#include <algorithm>

namespace query::cluster {

void task_queue::handle(const queue_event& e, queue_actions& out) {
  std::visit([&](const auto& which) { on(which, out); }, e);
  go_on(out);
}

task_queue::entry* task_queue::waiting(const task_id& t) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const entry& e) { return e.task.id == t && !e.working; });
  return found == entries_.end() ? nullptr : &*found;
}

void task_queue::on(const task& e, queue_actions& out) {
  // An earlier attempt that has not begun never does.
  const auto waits = [&](const entry& w) { return w.task.id.step == e.id.step && !w.working; };
  const auto earlier = std::find_if(entries_.begin(), entries_.end(), waits);
  if (earlier != entries_.end()) {
    for (std::size_t i = 0; i < earlier->blocks.size(); ++i)
      if (earlier->blocks[i] == state::here) out.push_back(discard{earlier->task.id, earlier->task.blocks[i]});
    entries_.erase(earlier);
  }
  entries_.push_back({e, {}});
  for (const block& b : e.blocks) entries_.back().blocks.push_back(b.attempt ? state::wanted : state::expected);
}

void task_queue::on(const other_block& e, queue_actions& out) {
  entry* const w = waiting(e.task);
  if (!w) return;
  for (std::size_t i = 0; i < w->blocks.size(); ++i) {
    block& known = w->task.blocks[i];
    if (known.at.partition != e.instead.at.partition) continue;
    state& is = w->blocks[i];
    if (is == state::on_the_way && known == e.instead) continue;
    if (is == state::here && known.size.alike(e.instead.size)) continue;  // the same rows, computed once more
    if (is == state::here) out.push_back(discard{e.task, known});
    known = e.instead;
    is = state::wanted;  // what is on its way is another block
  }
}

void task_queue::on(const no_longer_read& e, queue_actions&) { dropped_.insert(e.step); }

void task_queue::on(const given_up& e, queue_actions& out) {
  std::erase_if(entries_, [&](const entry& w) {
    if (w.task.id.step != e.step || w.working) return false;
    for (std::size_t i = 0; i < w.blocks.size(); ++i)
      if (w.blocks[i] == state::here) out.push_back(discard{w.task.id, w.task.blocks[i]});
    return true;
  });
  dropped_.insert(e.step);
}

void task_queue::on(const pulled& e, queue_actions& out) {
  arrived(e.what);
  if (entry* const w = waiting(e.task))
    for (std::size_t i = 0; i < w->blocks.size(); ++i)
      if (w->blocks[i] == state::on_the_way && w->task.blocks[i] == e.what) {
        w->blocks[i] = state::here;
        return;
      }
  out.push_back(discard{e.task, e.what});
}

void task_queue::on(const not_pulled& e, queue_actions& out) {
  arrived(e.what);
  if (entry* const w = waiting(e.task))
    for (std::size_t i = 0; i < w->blocks.size(); ++i)
      if (w->blocks[i] == state::on_the_way && w->task.blocks[i] == e.what) {
        w->blocks[i] = state::missing;
        out.push_back(say_missing{e.task, e.what, e.gone, e.milliseconds});
      }
}

void task_queue::on(const worked& e, queue_actions&) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const entry& w) { return w.task.id == e.task && w.working; });
  if (found == entries_.end()) return;
  const cluster::task& t = found->task;
  const bool sends = leaves_blocks(t.does);
  if (e.well && (sends || leaves_rows(t.does))) {
    // A vertex has one table: that of an earlier step, which nobody reads here any more, has been overwritten.
    if (!sends) std::erase_if(held_, [&](const auto& h) { return !h.second.in_blocks && h.second.vertex == t.vertex; });
    held_[t.id.step] = {t.vertex, sends};
  }
  entries_.erase(found);
}

// Has `next` to wait for the earlier one? It may read what that makes, or make the same table. A table of a vertex that runs again, in the
// next round of a loop, takes the place of one that all have read: its step was given up.
bool task_queue::comes_behind(const cluster::task& next, const cluster::task& earlier) const {
  const auto& reads = next.reads;
  if (std::find(reads.begin(), reads.end(), earlier.id.step) != reads.end()) return true;
  return next.vertex == earlier.vertex && leaves_rows(next.does) == leaves_rows(earlier.does);
}

bool task_queue::may_begin(std::size_t number) const {
  const entry& w = entries_[number];
  if (std::any_of(w.blocks.begin(), w.blocks.end(), [](state s) { return s != state::here; })) return false;
  for (std::size_t i = 0; i < number; ++i)
    if (comes_behind(w.task, entries_[i].task)) return false;
  return std::all_of(w.task.reads.begin(), w.task.reads.end(), [&](step_id s) { return held_.contains(s); });
}

void task_queue::go_on(queue_actions& out) {
  for (entry& w : entries_)
    for (std::size_t i = 0; i < w.blocks.size(); ++i) {
      if (w.blocks[i] != state::wanted) continue;
      const std::uint64_t bytes = w.task.blocks[i].size.bytes;
      if (on_the_way_ && on_the_way_ + bytes > options_.window) continue;
      on_the_way_ += bytes;
      w.blocks[i] = state::on_the_way;
      out.push_back(pull{w.task.id, w.task.blocks[i]});
    }
  for (auto i = dropped_.begin(); i != dropped_.end();) {
    const bool read = std::any_of(entries_.begin(), entries_.end(), [&](const entry& w) {
      return w.task.id.step == *i || std::find(w.task.reads.begin(), w.task.reads.end(), *i) != w.task.reads.end();
    });
    const auto gone = held_.find(*i);
    // A task of the same vertex that works puts its table in the place of this one.
    const auto replaces = [&](const entry& w) {
      return w.working && leaves_rows(w.task.does) && w.task.vertex == gone->second.vertex;
    };
    if (gone != held_.end() && !gone->second.in_blocks && std::any_of(entries_.begin(), entries_.end(), replaces)) {
      ++i;
      continue;
    }
    if (!read && gone != held_.end()) {
      out.push_back(forget_rows{*i, gone->second.vertex, gone->second.in_blocks});
      held_.erase(gone);
    }
    i = read ? std::next(i) : dropped_.erase(i);
  }
  if (std::any_of(entries_.begin(), entries_.end(), [](const entry& w) { return w.working; })) return;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (may_begin(i)) {
      entries_[i].working = true;
      out.push_back(work_on{entries_[i].task});
      return;
    }
}

}  // namespace query::cluster
