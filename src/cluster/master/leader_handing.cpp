// The rows of a result that a reader takes in order, while partitions still make theirs: those of the first partition, then those of the
// second. A partition holds its rows in blocks, in files where its memory has no room; two blocks at most are here. The reader of rows
// that were given never sees them again: a partition that is computed again gives the same blocks, or the query fails.
#include <algorithm>
#include <utility>

#include "cluster/master/leader.hpp"

namespace query::cluster {

using planner::vertex;

void leader::begin_handing_on(const vertex& v, byte_writer argument) {
  constexpr std::uint64_t most_bytes = std::uint64_t{8} << 20, a_window = 8;
  argument.put(std::min(most_bytes, std::max<std::uint64_t>(task_queue::within(all_[0].context->pool.limit()).window / a_window, 1)));
  step s{numbers_.at(&v), work::send, static_cast<std::uint32_t>(v.partitions), reads_of(v), 0, {argument.take()}};
  s.in_pieces = true;
  handing_ = {};
  waits_for_ = &v;
  handing_.sends = submit(std::move(s));
  steps_[&v].push_back(handing_.sends);
}

// One block is on its way while the reader has the one before. A partition's number of blocks is known when it is done, and it has one
// at least.
bool leader::ask_for_next() {
  handing& h = handing_;
  const auto senders = static_cast<std::uint32_t>(handed_on_->partitions);
  if (h.coming) return true;
  if (h.bucket && h.bucket >= master_->result(h.sends, h.sender).blocks.size()) {
    ++h.sender;
    h.bucket = 0;
  }
  if (h.sender == senders) return false;
  step s{numbers_.at(handed_on_), work::receive, 1, {}, h.sends};
  s.only = step::piece{h.sender, h.bucket++};
  h.coming = submit(std::move(s));
  return true;
}

bool leader::next_rows() {
  handing& h = handing_;
  waits_for_ = handed_on_;
  if (h.given) release({std::exchange(h.given, 0)});
  if (!h.sends) return false;
  if (!ask_for_next()) {
    wait(h.sends);
    steps_.erase(handed_on_);
    release({std::exchange(h.sends, 0)});
    return false;
  }
  wait(h.coming);
  h.given = std::exchange(h.coming, 0);
  ask_for_next();
  return true;
}

}  // namespace query::cluster
