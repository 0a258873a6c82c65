#include "runtime/dataflow/receiver.hpp"

#include "runtime/dataflow/scopes.hpp"

namespace query::runtime {

using detail::flow_item;

bool edge_receiver::poll(flow_item& i) {
  if (!from_->empty()) {
    i = from_->take();
    return true;
  }
  if (!from_->ended()) return false;
  i = {};
  return true;
}

merged_receiver::merged_receiver(std::vector<std::unique_ptr<receiver>> parts) {
  for (auto& p : parts) parts_.push_back({.from = std::move(p)});
}

bool merged_receiver::poll(flow_item& i) {
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    part& p = parts_[k];
    if (p.holds) continue;
    if (!p.from->poll(p.held)) {
      blamed_ = k;
      continue;
    }
    if (p.held.what == flow_item::kind::rows) {
      i = std::exchange(p.held, {});
      return true;
    }
    p.holds = true;
  }
  const part* told = nullptr;
  for (const part& p : parts_) {
    if (!p.holds) return false;
    if (p.held.what == flow_item::kind::closed) continue;
    if (told && (told->held.scope != p.held.scope || told->held.depth != p.held.depth))
      throw user_error(std::string("dataflow: merges: edges have different streams: ") + name_of(told->held.scope) + " of '" +
                       told->from->name() + "', " + name_of(p.held.scope) + " of '" + p.from->name() + "'");
    told = &p;
  }
  i = told ? told->held : flow_item{};
  for (part& p : parts_) p.holds = p.held.what == flow_item::kind::closed;
  return true;
}

bool initial_receiver::poll(flow_item& i) {
  if (armed_) {
    armed_ = false;
    i = {.what = flow_item::kind::rows, .rows = rows_};
    return true;
  }
  if (!from_->poll(i)) return false;
  armed_ = i.what == flow_item::kind::scope && i.scope == dataflow::signal::begin_stream && rows_.size();
  return true;
}

bool iterating_receiver::poll(flow_item& i) {
  if (has_pending_) {
    has_pending_ = false;
    i = std::exchange(pending_, {});
    return true;
  }
  switch (state_) {
    case state::outside: return poll_outside(i);
    case state::first_round: return poll_first(i);
    case state::returns: break;
  }
  return poll_returns(i);
}

bool iterating_receiver::poll_outside(flow_item& i) {
  // No round is open, so nothing of one can come back: these are the signals of outer scopes.
  for (flow_item over; back_.poll(over) && over.what != flow_item::kind::closed;) {}
  if (!first_->poll(i)) return false;
  if (i.what == flow_item::kind::scope) {
    leaf_ = begins(i.scope);
    depth_ = i.depth;
  } else if (i.what == flow_item::kind::rows) {
    if (!leaf_) throw user_error("dataflow: iterates: rows beside a scope that was iterated already: of '" + first_->name() + "'");
    state_ = state::first_round;
    round_ = 0;
    inside_ = false;
    begin_round(i, std::move(i));
  }
  return true;
}

bool iterating_receiver::poll_first(flow_item& i) {
  if (!first_->poll(i)) return false;
  if (i.what == flow_item::kind::rows) return true;
  if (i.what == flow_item::kind::closed || begins(i.scope))
    throw user_error("dataflow: iterates: rows, and then a scope beside them: of '" + first_->name() + "'");
  end_ = std::move(i);
  state_ = state::returns;
  end_round(i);
  return true;
}

bool iterating_receiver::poll_returns(flow_item& i) {
  for (flow_item came; back_.poll(came);) {
    if (came.what == flow_item::kind::closed) {  // the loop's last vertex has returned
      if (open_) end_round(i);
      else leave(i);
      return true;
    }
    if (came.what == flow_item::kind::rows) {
      if (!inside_ || (!open_ && round_ == most_)) continue;
      if (open_) i = std::move(came);
      else begin_round(i, std::move(came));
      return true;
    }
    if (came.depth != depth_ + 1 || of_stream(came.scope)) continue;
    inside_ = begins(came.scope);
    if (inside_) continue;
    if (open_) end_round(i);
    else leave(i);
    return true;
  }
  return false;
}

void iterating_receiver::begin_round(flow_item& i, flow_item rows) {
  pending_ = std::move(rows);
  has_pending_ = open_ = true;
  ++round_;
  i = {.what = flow_item::kind::scope, .scope = dataflow::signal::begin_iteration, .depth = depth_ + 1};
}

void iterating_receiver::end_round(flow_item& i) {
  open_ = false;
  i = {.what = flow_item::kind::scope, .scope = dataflow::signal::end_iteration, .depth = depth_ + 1};
}

void iterating_receiver::leave(flow_item& i) {
  state_ = state::outside;
  leaf_ = false;
  i = std::exchange(end_, {});
}

}  // namespace query::runtime
