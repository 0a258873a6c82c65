// Where a receiving port's items come from: an edge, or others put together. Receivers do not wait, so that they compose; the
// port waits for them.
//
//   detail::flow_item i;
//   run.wait(held, seat, "rows of '", name, [&] { return r.poll(i); });
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/dataflow/channel.hpp"

namespace query::runtime {

// All under the run's monitor.
class receiver {
 public:
  virtual ~receiver() = default;
  // What comes next, if it is there. After the end, it is `closed` for ever. Throws user_error for sources that do not fit together.
  virtual bool poll(detail::flow_item& i) = 0;
  virtual const std::string& name() const = 0;  // of the edge to blame for waiting
};

class edge_receiver final : public receiver {
 public:
  explicit edge_receiver(channel& from) : from_(&from) {}
  bool poll(detail::flow_item& i) override;
  const std::string& name() const override { return from_->name(); }

 private:
  channel* from_;
};

// merges(): blocks of the first that has some; signals when all have sent them.
class merged_receiver final : public receiver {
 public:
  explicit merged_receiver(std::vector<std::unique_ptr<receiver>> parts);
  bool poll(detail::flow_item& i) override;
  const std::string& name() const override { return parts_[blamed_].from->name(); }

 private:
  struct part {
    std::unique_ptr<receiver> from;
    bool holds = false;      // it has sent `signal`, the others have not yet
    detail::flow_item held{};  // or its end, for ever
  };
  std::vector<part> parts_;
  std::size_t blamed_ = 0;
};

// initially(): rows at the begin of each stream.
class initial_receiver final : public receiver {
 public:
  initial_receiver(std::unique_ptr<receiver> from, detail::flow_rows rows) : from_(std::move(from)), rows_(std::move(rows)) {}
  bool poll(detail::flow_item& i) override;
  const std::string& name() const override { return from_->name(); }

 private:
  std::unique_ptr<receiver> from_;
  detail::flow_rows rows_;
  bool armed_ = false;
};

// iterates(): a stream's rows, then what came back of them, iteration by iteration.
class iterating_receiver final : public receiver {
 public:
  iterating_receiver(std::unique_ptr<receiver> first, channel& back, std::uint64_t most_rounds)
      : first_(std::move(first)), back_(back), most_(most_rounds) {}
  bool poll(detail::flow_item& i) override;
  const std::string& name() const override { return state_ == state::returns ? back_.name() : first_->name(); }

 private:
  enum class state : unsigned char { outside, first_round, returns };
  bool poll_outside(detail::flow_item& i);
  bool poll_first(detail::flow_item& i);
  bool poll_returns(detail::flow_item& i);
  void begin_round(detail::flow_item& i, detail::flow_item rows);
  void end_round(detail::flow_item& i);
  void leave(detail::flow_item& i);

  std::unique_ptr<receiver> first_;
  edge_receiver back_;
  std::uint64_t most_, round_ = 0;
  state state_ = state::outside;
  std::uint32_t depth_ = 0;           // of the scope that is iterated: rounds are one deeper
  bool leaf_ = false;                 // it holds no other scope so far
  bool open_ = false;                 // a round has begun and not ended
  bool inside_ = false;               // what comes back lies in a round
  detail::flow_item pending_{};       // the first rows of a round whose begin was told just now
  bool has_pending_ = false;
  detail::flow_item end_{};           // of the scope: told after the rounds
};

}  // namespace query::runtime
