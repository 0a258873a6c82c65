// An edge of a running graph: blocks and signals in the order in which they were sent, no more than its capacity at a time.
//
// Guarded by the run's monitor, by which writer and reader wait:
//
//   run.wait(held, writer, "room in '", name, [&] { return !e.full(); });
//   e.put(item);
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "runtime/dataflow/monitor.hpp"

#include <query/detail/dataflow_plan.hpp>

namespace query::runtime {

class channel {
 public:
  channel(const detail::flow_edge& e, seat& writer, seat& reader)
      : capacity_(e.capacity), waiting_(std::max<std::size_t>(e.capacity, 4)), writer_(&writer), reader_(&reader) {
    told_.name = e.name;
  }

  const std::string& name() const { return told_.name; }
  bool has_limit() const { return capacity_ != 0; }
  bool empty() const { return n_ == 0; }
  bool full() const { return capacity_ && n_ == capacity_; }
  bool ended() const { return ended_; }  // nothing will be put
  bool read() const { return read_; }    // somebody may take

  void put(detail::flow_item i) {
    if (n_ == waiting_.size()) {  // only without a limit
      std::rotate(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(first_), waiting_.end());
      first_ = 0;
      waiting_.resize(2 * n_);
    }
    if (i.what == detail::flow_item::kind::rows) {
      ++told_.blocks;
      told_.rows += i.rows.size();
    } else {
      ++told_.signals;
    }
    waiting_[(first_ + n_++) % waiting_.size()] = std::move(i);
    told_.most_waiting = std::max(told_.most_waiting, n_);
    monitor::wake(*reader_);
  }
  detail::flow_item take() {
    detail::flow_item i = std::exchange(waiting_[first_], {});
    first_ = (first_ + 1) % waiting_.size();
    --n_;
    if (capacity_) monitor::wake(*writer_);
    return i;
  }
  void end() {
    ended_ = true;
    monitor::wake(*reader_);
  }
  // The reader has returned. Gives what it left: rows are not destroyed under the lock.
  std::vector<detail::flow_item> leave() {
    read_ = false;
    n_ = 0;
    monitor::wake(*writer_);
    return std::exchange(waiting_, std::vector<detail::flow_item>(1));
  }

  const dataflow::edge_report& told() const { return told_; }

 private:
  const std::size_t capacity_;
  std::vector<detail::flow_item> waiting_;  // a ring
  std::size_t first_ = 0, n_ = 0;
  seat *writer_, *reader_;
  bool ended_ = false, read_ = true;
  dataflow::edge_report told_;
};

}  // namespace query::runtime
