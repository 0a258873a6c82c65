#include "runtime/shared_rows.hpp"

#include <algorithm>

#include <query/errors.hpp>

namespace query::runtime {

namespace {

// Of what its taker is expected to do of the rest: the others may turn out to be faster by as much as is left.
constexpr double part_of_the_rest = 0.7;
// A chunk costs a start and an end of its own, which should not count beside its rows.
constexpr double least_part_of_a_share = 1.0 / 16;
constexpr std::uint64_t least_parts = 8;

}  // namespace

bool shared_rows::take(std::uint64_t first, std::uint64_t end) {
  const std::lock_guard hold(lock_);
  if (first >= end_) return false;
  if (end > end_) throw internal_error("shared_rows: a part that crosses a border of fixed parts");
  front_ = std::max(front_, end);
  return true;
}

std::uint64_t shared_rows::end() const {
  const std::lock_guard hold(lock_);
  return end_;
}

shared_rows::taker::taker(shared_rows& of, double share) : of_(&of), share_(share) {
  const double wanted = static_cast<double>(of.all_) * share * least_part_of_a_share;
  least_ = std::max(least_parts * rows_of_fixed_part, static_cast<std::uint64_t>(wanted));
}

row_span shared_rows::taker::next() {
  const std::lock_guard hold(of_->lock_);
  const std::uint64_t left = of_->end_ > of_->front_ ? of_->end_ - of_->front_ : 0;
  // By what all have taken until now, once this has come back for more.
  if (taken_) share_ = static_cast<double>(taken_) / static_cast<double>(of_->all_ - left);
  const double mine = share_ * static_cast<double>(left);
  // The first one pays, as whoever divided the rows has seen to; others are left to the CPU where they are small.
  const std::uint64_t least = taken_ ? least_ : rows_of_fixed_part;
  if (left == 0 || 2 * mine < static_cast<double>(least)) return {};
  const std::uint64_t wanted = std::min(left, std::max(least, static_cast<std::uint64_t>(part_of_the_rest * mine)));
  // The others' parts begin at multiples: what is behind the last of these is this one's.
  const std::uint64_t border = (of_->end_ - wanted + rows_of_fixed_part - 1) / rows_of_fixed_part * rows_of_fixed_part;
  const std::uint64_t first = std::max(border, of_->front_);
  const row_span chunk{std::min(first, of_->end_), of_->end_};
  of_->end_ = chunk.first;
  taken_ += chunk.size();
  return chunk;
}

}  // namespace query::runtime
